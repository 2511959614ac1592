// Loads a trace into Perfetto's trace processor and prints the seconds that took, as JSON.
//
// Usage: node perfetto.mjs ENGINE_FOLDER TRACE
//
// ENGINE_FOLDER holds engine_bundle.js and the wasm beside it, as Perfetto's web page serves them.
// The bundle is a web worker: this file gives it the few globals of one, then speaks the
// TraceProcessorRpc protocol of protos/perfetto/trace_processor/trace_processor.proto.

import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import vm from "node:vm";

const CHUNK_BYTES = 8 << 20;
const METHOD = { append: 1, finish: 2, query: 3 };
const FIELD = { stream: 1, sequence: 1, method: 2, appendData: 101, queryArgs: 103, appendResult: 201, queryResult: 203 };

function varint(number) {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
  return Buffer.from([...bytes, number]);
}

const numberField = (field, number) => Buffer.concat([varint(field * 8), varint(number)]);

const bytesField = (field, bytes) => Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);

function readVarint(bytes, start) {
  let number = 0;
  let scale = 1;
  let end = start;
  for (;;) {
    const byte = bytes[end++];
    number += (byte & 127) * scale;
    if (byte < 128) return [number, end];
    scale *= 128;
  }
}

/** Yields [field, value]: numbers for varints, bytes for the rest. */
function* fieldsOf(message) {
  for (let at = 0; at < message.length; ) {
    const [key, start] = readVarint(message, at);
    const wire = key % 8;
    let length;
    if (wire === 0) {
      const [number, end] = readVarint(message, start);
      at = end;
      yield [key >> 3, number];
      continue;
    }
    let from = start;
    if (wire === 2) [length, from] = readVarint(message, start);
    else length = wire === 1 ? 8 : 4;
    at = from + length;
    yield [key >> 3, message.subarray(from, at)];
  }
}

const valuesOf = (message, wanted) => [...fieldsOf(message)].filter(([field]) => field === wanted).map(([, value]) => value);

/** What the worker asks for its WebAssembly, synchronously: here the file of that name in the folder. */
const requestFor = (folder) =>
  class {
    open(_method, url) {
      this.path = join(folder, basename(url));
    }
    send() {
      this.response = readFileSync(this.path);
    }
  };

/** Runs the worker's script, which starts the WebAssembly, and connects it to the port. */
async function startEngine(folder, port) {
  globalThis.self = globalThis;
  globalThis.WorkerGlobalScope = class {};
  globalThis.XMLHttpRequest = requestFor(folder);
  globalThis.location = { href: "http://localhost/engine_bundle.js", protocol: "http:", host: "localhost" };
  process.type = "renderer"; // what the script asks for to tell a browser from node
  console.warn = () => {}; // its log
  const script = join(folder, "engine_bundle.js");
  vm.runInThisContext(readFileSync(script, "utf8"), { filename: script });
  globalThis.onmessage({ data: port });
  await new Promise(setImmediate); // its start-up ends in a promise
}

class TraceProcessor {
  #replies = [];
  #sequence = 0;
  #port = { onmessage: null, postMessage: (data) => this.#replies.push(Buffer.from(data)) };

  static async start(folder) {
    const processor = new TraceProcessor();
    await startEngine(folder, processor.#port);
    return processor;
  }

  /** The answers to one request; the engine gives them before the call returns. */
  #call(method, argument = Buffer.alloc(0)) {
    const head = [numberField(FIELD.sequence, this.#sequence++), numberField(FIELD.method, method)];
    const request = bytesField(FIELD.stream, Buffer.concat([...head, argument]));
    this.#replies = [];
    this.#port.onmessage({ data: new Uint8Array(request) });
    return valuesOf(Buffer.concat(this.#replies), FIELD.stream);
  }

  append(bytes) {
    for (const answer of this.#call(METHOD.append, bytesField(FIELD.appendData, bytes)))
      for (const result of valuesOf(answer, FIELD.appendResult)) throwIfError(result);
  }

  finish() {
    this.#call(METHOD.finish);
  }

  /** The single number that a query gives. */
  number(sql) {
    const answers = this.#call(METHOD.query, bytesField(FIELD.queryArgs, bytesField(1, Buffer.from(sql))));
    const results = answers.flatMap((answer) => valuesOf(answer, FIELD.queryResult));
    results.forEach(throwIfError);
    const [packed] = results.flatMap((result) => valuesOf(result, 3)).flatMap((batch) => valuesOf(batch, 2));
    return readVarint(packed, 0)[0];
  }
}

function throwIfError(result) {
  const [message] = valuesOf(result, 2);
  if (message?.length) throw new Error(message.toString());
}

function load(processor, trace) {
  const file = openSync(trace, "r");
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (let size; (size = readSync(file, buffer, 0, CHUNK_BYTES, null)) > 0; ) processor.append(buffer.subarray(0, size));
  processor.finish();
  closeSync(file);
}

const [folder, trace] = process.argv.slice(2);
const processor = await TraceProcessor.start(folder);
const started = performance.now();
load(processor, trace);
const loadSeconds = (performance.now() - started) / 1000;
const slices = processor.number("SELECT count(*) FROM slice");
process.stdout.write(JSON.stringify({ load_seconds: loadSeconds, slices }) + "\n", () => process.exit(0));
