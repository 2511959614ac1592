from torch.autograd import profiler as profiler
