// The choice of the module for this browser and processor.

// A module with two functions, which returns the first lane of a relaxed sum of products, and of a relaxed multiply-add.
const TRIAL =
  "AGFzbQEAAAABDgJgAn9/AX9gA319fQF9AwMCAAEHCQIBZAAAAW0AAQo5AiIAIAD9ESAB/RH9DAAAAAAAAAAAAAAAAAAAAAD9kwL9GwALFAAgAP0TIAH9EyAC/RP9hQL9HwAL";

/**
 * Returns whether sums of products of 8 bits are exact, with the second operand unsigned or signed, and multiply-adds are
 * fused: then the faster module computes what the other one does.
 */
function isExact() {
  try {
    const bytes = Uint8Array.from(atob(TRIAL), (character) => character.charCodeAt(0));
    const { d: sum, m: multiplyAdd } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
    const isSumExact = [4 * 127 * 255, -4 * 127].includes(sum(0x7f7f7f7f, -1));
    return isSumExact && multiplyAdd(1 + 2 ** -12, 1 + 2 ** -12, -1 - 2 ** -11) === 2 ** -24;
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
