// The models of the tests, and the native program.

import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const program = process.env.TRANSFORMER_INFER;
const fixtures = new URL("../../../transformer-core/tests/fixtures/marian/", import.meta.url);

export const temporaryFolder = () => mkdtempSync(join(tmpdir(), "transformer-web-"));

/** Runs the native program, and returns its output. */
export function run(...args) {
  return execFileSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28 });
}

/** Unpacks a fixture into a folder, and makes model directories in floats and integers of it. */
export function unpack(folder, name) {
  const original = join(folder, name);
  mkdirSync(original);
  for (const file of readdirSync(new URL(`${name}/`, fixtures))) {
    const content = gunzipSync(readFileSync(new URL(`${name}/${file}`, fixtures)));
    writeFileSync(join(original, file.replace(/\.gz$/, "")), content);
  }
  const [floats, integers] = [`${original}-f32`, `${original}-int8`];
  run("import", "--from", original, "--out", floats);
  run("quantize", "--model", floats, "--out", integers, "--precision", "int8");
  return { original, floats, integers };
}

/** Returns the files of a folder by name. */
export function filesOf(path) {
  return Object.fromEntries(readdirSync(path).map((name) => [name, new Uint8Array(readFileSync(join(path, name)))]));
}
