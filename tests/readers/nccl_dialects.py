"""One log per dialect of NCCL, written from the formats of its versions."""

MODEL_2_20 = """\
gpu1:310:355 [0] NCCL INFO   Algorithm   |                            Tree                  |                            Ring                  |                   CollNetDirect                  |
gpu1:310:355 [0] NCCL INFO   Protocol    |             LL |          LL128 |         Simple |             LL |          LL128 |         Simple |             LL |          LL128 |         Simple |
gpu1:310:355 [0] NCCL INFO  Max NThreads |            512 |            640 |            512 |            512 |            640 |            256 |              0 |              0 |            640 |
gpu1:310:355 [0] NCCL INFO     Broadcast |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     7.6/   6.0 |    16.5/  11.0 |    14.1/  12.0 |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |
gpu1:310:355 [0] NCCL INFO     AllReduce |     8.8/   2.9 |    18.0/   8.6 |    16.4/  11.0 |     8.6/   6.0 |    19.0/  11.0 |    19.8/  12.0 |     0.0/   0.0 |     0.0/   0.0 |    30.7/   0.0 |
"""  # noqa: E501

NCCL_2_18 = """\
gpu1:300:340 [1] NCCL INFO NCCL_SHM_DISABLE set by environment to 0.
gpu1:300:300 [1] NCCL INFO cudaDriverVersion 12020
NCCL version 2.18.3+cuda12.1
gpu1:300:340 [1] NCCL INFO Using network Socket
gpu1:300:340 [1] NCCL INFO comm 0x8c41f20 rank 1 nranks 2 cudaDev 1 nvmlDev 3 busId 5e000 commId 0x6a1c5d02e98b7f44 - Init START
gpu1:300:340 [1] NCCL INFO Trees [0] -1/-1/-1->1->0 [1] -1/-1/-1->1->0
gpu1:300:340 [1] NCCL INFO Channel 01/0 : 1[3] -> 0[2] via P2P/IPC/read
gpu1:300:340 [1] NCCL INFO Connected all rings
gpu1:300:340 [1] NCCL INFO 2 coll channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer
gpu1:300:340 [1] NCCL INFO comm 0x8c41f20 rank 1 nranks 2 cudaDev 1 nvmlDev 3 busId 5e000 commId 0x6a1c5d02e98b7f44 - Init COMPLETE
gpu1:300:300 [1] NCCL INFO ReduceScatter: opCount 1f sendbuff 0x7fa2c0000000 recvbuff 0x7fa2d0000000 count 512 datatype 7 op 0 root 0 comm 0x8c41f20 [nranks=2] stream 0x8c3e110
gpu1:300:300 [1] NCCL INFO comm 0x8c41f20 rank 1 nranks 2 cudaDev 1 busId 5e000 - Destroy COMPLETE
"""  # noqa: E501

NCCL_2_20 = f"""\
gpu1:310:355 [0] NCCL INFO comm 0x561f8be02a90 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0
gpu1:310:355 [0] NCCL INFO comm 0x561f8be02a90 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1a000 commId 0x77aa01b2c3d4e5f6 - Init START
gpu1:310:355 [0] NCCL INFO Channel 00/02 :    0   1
gpu1:310:355 [0] NCCL INFO comm 0x561f8be02a90 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1a000 commId 0x77aa01b2c3d4e5f6 - Init COMPLETE
{MODEL_2_20}gpu1:310:310 [0] NCCL INFO AllReduce: opCount 2 sendbuff 0x7f6a3c200000 recvbuff 0x7f6a3c200000 count 81920 datatype 6 op 0 root 0 comm 0x561f8be02a90 [nranks=2] stream 0x561f8bd11e20
gpu1:310:310 [0] NCCL INFO 163840 Bytes -> Algo 1 proto 0 time 36.125000
"""  # noqa: E501

NCCL_2_23 = """\
gpu1:320:366 [2] NCCL INFO ncclCommSplit comm 0x55ce41a07730 rank 0 nranks 2 cudaDev 2 nvmlDev 2 busId 3d000 parent 0x55ce40f11c80 splitCount 1 color 1734 key 0- Init START
gpu1:320:366 [2] NCCL INFO ncclCommSplit comm 0x55ce41a07730 rank 0 nranks 2 cudaDev 2 nvmlDev 2 busId 3d000 parent 0x55ce40f11c80 splitCount 1 color 1734 key 0 - Init COMPLETE
gpu1:320:366 [2] NCCL INFO Init timings - ncclCommSplit: rank 0 nranks 2 total 0.37 (kernels 0.00, alloc 0.01, bootstrap 0.12, allgathers 0.00, topo 0.13, graphs 0.01, connections 0.08, rest 0.02)
gpu1:320:320 [2] NCCL INFO AllGather: opCount 0 sendbuff 0x7f1b00000000 recvbuff 0x7f1b08000000 count 2048 datatype 9 op 0 root 0 comm 0x55ce41a07730 [nranks=2] stream (nil)
gpu1:320:320 [2] NCCL INFO AllGather: 8192 Bytes -> Algo 6 proto 2 time 20.500000
"""  # noqa: E501

NCCL_2_24 = """\
gpu1:330:371 [0] NCCL INFO ncclCommInitRank comm 0x5618d3c0e6b0 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 7000 commId 0xe01d8c4b9a276f35 - Init COMPLETE
gpu1:330:371 [0] NCCL INFO 24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer
gpu1:330:402 [0] NCCL INFO Channel 05/0 : 0[0] -> 1[1] via P2P/CUMEM/read
gpu1:330:330 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x302000000 recvbuff 0x302800000 count 57344 datatype 9 op 4 root 0 comm 0x5618d3c0e6b0 [nranks=4] stream 0x5618d2b7f540
gpu1:330:330 [0] NCCL INFO AllReduce: 114688 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..15}
gpu1:330:371 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
"""  # noqa: E501

NCCL_2_27 = """\
[2026-05-06 07:08:09.000250 +0200] gpu1:340:388 [3] NCCL INFO ncclCommInitRankConfig comm 0x5577f0a1b3c0 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 4b000 commId 0x1122aabb3344ccdd - Init START
[2026-05-06 07:08:09.000250 +0200] gpu1:340:388 [3] NCCL INFO Check P2P Type isAllDirectP2p 0 directMode 0
[2026-05-06 07:08:09.000251 +0200] gpu1:340:388 [3] NCCL INFO Channel 00 : 3[3] -> 4[4] via SHM/direct/direct
[2026-05-06 07:08:09.000252 +0200] gpu1:340:388 [3] NCCL INFO ncclCommInitRankConfig comm 0x5577f0a1b3c0 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 4b000 commId 0x1122aabb3344ccdd - Init COMPLETE
[2026-05-06 07:08:10.123456 +0200] gpu1:340:340 [3] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f5500000000 recvbuff 0x7f5500400000 count 7168 datatype 9 op 0 root 0 comm 0x5577f0a1b3c0 [nranks=8] stream 0x5577ef90d2e0
[2026-05-06 07:08:10.123460 +0200] gpu1:340:340 [3] NCCL INFO AllReduce [Symmetric]: 14336 Bytes -> Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512

[2026-05-06 07:08:11.000000 +0200] gpu1:340:351 [3] transport/net.cc:612 NCCL WARN Call to recv from 10.1.2.3<47110> failed : Connection reset by peer
[2026-05-06 07:08:11.000001 +0200] gpu1:340:351 [3] NCCL INFO misc/socket.cc:58 -> 3 [Proxy Thread]
"""  # noqa: E501

NCCL_2_28 = """\
gpu1:350:350 [0] NCCL INFO AlltoAll: opCount 0 sendbuff 0x7e0a00000000 recvbuff 0x7e0a10000000 count 3000 datatype 10 op 0 root 0 comm 0x55d00d1e8b20 [nranks=4] stream 0x55d00c0f3a10
gpu1:350:350 [0] NCCL INFO Gather: opCount 0 sendbuff 0x7e0a00000000 recvbuff 0x7e0a10000000 count 100 datatype 2 op 0 root 2 comm 0x55d00d1e8b20 [nranks=4] stream 0x55d00c0f3a10
gpu1:350:350 [0] NCCL INFO AllReduce [Symmetric]: 2048 Bytes -> Kernel AllReduce_RSxLD_AGxST nchannels 8 nthreads 512 nWorks 1
gpu1:350:361 [0] NCCL INFO comm 0x55d00d1e8b20 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0
gpu1:350:361 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/1/GDRDMA
gpu1:350:361 [0] NCCL INFO Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0(1)/GDRDMA/Shared
"""  # noqa: E501

NCCL_2_29 = """\
gpu1:360:371 [1] NCCL INFO [Rank 1] ncclCommInitRankConfig comm 0x5640be11fa70 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId c1000 commId 0xbeef0102030405aa - Init START
gpu1:360:371 [1] NCCL INFO ncclCommInitRankConfig comm 0x5640be11fa70 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId c1000 commId 0xbeef0102030405aa - Init COMPLETE
gpu1:360:360 [1] NCCL INFO AllGather [Copy Engine]: 4194304 Bytes -> cudaMemcpy; CE synchronization with NVLS
gpu1:360:360 [1] NCCL INFO Send: opCount 0 sendbuff 0x7fcc40000000 recvbuff 0x7fcc40000000 count 65536 datatype 1 op 0 root 0 comm 0x5640be11fa70 [nranks=2] stream 0x5640bd0e6c30
gpu1:360:360 [1] NCCL INFO PutSignal: opCount 0 sendbuff 0x7fcc40000000 recvbuff (nil) count 16 datatype 1 op 0 root 0 comm 0x5640be11fa70 [nranks=2] stream 0x5640bd0e6c30
"""  # noqa: E501

NCCL_2_30 = """\

[2026-05-06 07:08:09] gpu1:370:382 [0] misc/shmutils.cc:87 (ncclShmOpen) NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Xy1 (size 9637888)
gpu1:370:370 [0] NCCL INFO AllGather [Hierarchical CE]: 65536 Bytes -> RMA proxy + CE
gpu1:370:382 [0] NCCL INFO Channel 01 : 0[0] -> 1[1] via SHM/direct
gpu1:370:370 NCCL CALL ncclGroupStart()
gpu1:370:370 NCCL CALL ncclAllReduce(0x7f9000000000,0x7f9000000000,1024,9,0,0,0x55fe20a41d10,0x55fe1f93b8a0)
gpu1:370:370 NCCL CALL ncclGroupEnd()
"""  # noqa: E501

NCCL_2_32 = """\
gpu1:380:391 [0] NCCL INFO ncclCommSplit comm 0x5611aa20c4f0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 9000 parent 0x5611a9118e60 childCount 1 color 0 key 0 commId 0x5a5a1b1b2c2c3d3d - Init COMPLETE
gpu1:380:380 [0] NCCL INFO Broadcast: opCount 0 sendbuff 0x7f0300000000 recvbuff 0x7f0300000000 count 300 datatype 11 op 0 root 1 comm 0x5611aa20c4f0 [nranks=2] stream 0x5611a907de10
gpu1:380:380 [0] NCCL INFO Broadcast: 300 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0} cgaClusterSize 2
gpu1:380:391 [0] NCCL INFO comm 0x5611aa20c4f0 rank 0 nranks 2 cudaDev 0 busId 9000 commId 0x5a5a1b1b2c2c3d3d - Destroy COMPLETE
"""  # noqa: E501

RCCL = """\
RCCL version 2.22.3-HEAD:9d3a1c7
mi300-2:410:455 [7] NCCL INFO ncclCommInitRank_impl comm 0xbc01d40 rank 2 nranks 8 cudaDev 2 nvmlDev 2 busId 26000 commId 0x9f8e7d6c5b4a3921 - Init COMPLETE
mi300-2:410:455 [7] NCCL INFO RCCL_MSCCL_ENABLE set by environment to 0.
mi300-2:410:410 [7] NCCL INFO AllReduce: opCount 9c sendbuff 0x7e8000000000 recvbuff 0x7e8000200000 count 4096 datatype 9 op 0 root 0 comm 0xbc01d40 [nranks=8] stream 0xba93e50 task 0 globalrank 2
mi300-2:410:410 [7] NCCL INFO mscclpp_ncclAllReduce: opCount 9d sendbuff 0x7e8000000000 recvbuff 0x7e8000200000 count 4096 datatype 9 op 0 root 0 comm 0xbc01d40 [nranks=8] stream 0xba93e50 task 1 globalrank 2
"""  # noqa: E501
