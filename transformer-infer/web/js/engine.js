// The choice of the module for this browser and processor.

// A module with three functions, which return the first lane of a relaxed sum of four products and of two, and of a relaxed
// multiply-add.
const TRIAL =
  "AGFzbQEAAAABDgJgAn9/AX9gA319fQF9AwQDAAABBw0DAWQAAAFwAAEBbQACCkoDIgAgAP0RIAH9Ef0MAAAAAAAAAAAAAAAAAAAAAP2TAv0bAAsQACAA/REgAf0R/ZIC/RgACxQAIAD9EyAB/RMgAv0T/YUC/R8ACw==";

/**
 * Returns whether multiply-adds are fused, and sums of products of integers from -127 to 127 are exact: of four, with the second
 * operand unsigned or signed, or of two, where the sum fits in 16 bits. Then the faster module computes what the other one does.
 */
function isExact() {
  try {
    const bytes = Uint8Array.from(atob(TRIAL), (character) => character.charCodeAt(0));
    const { d: sumFour, p: sumTwo, m: multiplyAdd } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
    const sum = sumFour(0x7f7f7f7f, -1);
    const areFourExact = [4 * 127 * 255, -4 * 127].includes(sum);
    const areTwoExact = sum > 0 && sumTwo(0x40404040, -1) === 2 * 64 * 255 && sumTwo(-1, -1) === -2 * 255;
    const isFused = multiplyAdd(1 + 2 ** -12, 1 + 2 ** -12, -1 - 2 ** -11) === 2 ** -24;
    return isFused && (areFourExact || areTwoExact);
  } catch {
    return false; // the browser lacks these instructions
  }
}

/** Returns the name of the module: with threads if there should be several, and they can share memory here. */
export function moduleName(nThreads) {
  const name = isExact() ? "transformer_web_relaxed" : "transformer_web";
  const isShared = globalThis.SharedArrayBuffer !== undefined && (globalThis.crossOriginIsolated ?? true);
  // The V8 of Node 20 returns wrong results of calls that waited for other threads. That of Node 22 does not.
  const isRight = Array.fromAsync !== undefined;
  return nThreads > 1 && isShared && isRight ? `${name}_threads` : name;
}
