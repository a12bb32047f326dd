/**
 * Bytes, a file of the page, an address, or an address with the hash under which the browser keeps the file. Files of
 * addresses that end with `.gz` are unpacked; the hash is that of the content.
 */
export type ModelFile = Uint8Array | ArrayBuffer | Blob | string | URL | { url: string; sha256?: string };

export interface LoadOptions {
  /** Number format of matrix products. Default: integers for a model directory that is stored in them, else floats. */
  precision?: "f32" | "int8";
  /** False: all target tokens are candidates, even if the model has a shortlist. */
  shortlist?: boolean;
  /**
   * Number of workers, each of which holds the model in its own memory. All but the first start with the first text of
   * more than eight sentences, and read the files again that are not bytes; a worker takes part in a text if it is ready before
   * the first 256 kB of the text are translated. With several threads there is one worker. Default: 1.
   */
  workers?: number;
  /**
   * Number of threads, which share the memory of the model. Several need a page that is isolated from other origins
   * (`crossOriginIsolated`), or Node 22; elsewhere there is one: see `ModelInfo`. Default: 1.
   */
  threads?: number;
  /** Cancels the download. */
  signal?: AbortSignal;
  /** Called with the number of bytes of all files so far. */
  onProgress?: (progress: { loaded: number }) => void;
}

export interface TranslateOptions {
  /** Beam size; 1 is greedy. Default: the model's. */
  beam?: number;
  /** Number of translations of each sentence, at most the beam size. Default: 1. */
  nBest?: number;
  /** True: the text is HTML, whose markup is kept. */
  html?: boolean;
  /** True: sentences have alignments. */
  alignments?: boolean;
  /** Unit of translation. Default: sentences. */
  split?: "sentences" | "lines" | "none";
  /** Language of the text, such as `en`, for its rules of sentences. Default: the model's. */
  language?: string;
  /** Terms of the text, and their translations. */
  glossary?: Record<string, string>;
  /** Cancels the translation: the promise is rejected with the signal's reason. Workers end the calls that they have begun. */
  signal?: AbortSignal;
  /** Called with the next translated sentences. A sentence comes again if its translation lacked text to copy. */
  onSentences?: (sentences: Sentence[]) => void;
}

export interface Sentence {
  source: string;
  /** Best first. */
  translations: { text: string; score: number; logProb: number }[];
  /** Ranges of the source and of the best translation that belong together, in UTF-16 code units. */
  alignment?: { source: [number, number]; target: [number, number] }[];
}

export interface ModelInfo {
  source: string | null;
  target: string | null;
  precision: "f32" | "int8";
  parameters: number;
  /** Number of threads that share the memory of the model. */
  threads: number;
  /** Name of the module of WebAssembly that the browser runs. */
  module: string;
  /** The model's own beam size. */
  beam: number;
  /** Extensions of the names of documents. */
  formats: string[];
}

/** A model in one or more workers. If a worker fails, the call is rejected, and the next one starts a new worker. */
export class Translator {
  /**
   * Opens a model from its files by name: a model directory of `transformer-infer`, or the files of a model of Firefox
   * Translations (`model.*.bin`, `vocab.*.spm`, and if there are any `lex.*.bin` and `config.*.yml`).
   */
  static load(files: Record<string, ModelFile>, options?: LoadOptions): Promise<Translator>;
  readonly info: ModelInfo;
  translate(text: string, options?: TranslateOptions): Promise<{ text: string; sentences: Sentence[] }>;
  /** Translates a document, whose format its name's extension says, and returns it with its markup. */
  translateDocument(document: Blob | BufferSource, name: string, options?: TranslateOptions): Promise<Uint8Array>;
  /** Returns a page of HTML with what each head of the decoder attends to in the source, for a sentence and a translation. */
  attention(source: string, target: string): Promise<string>;
  /** Returns the memory of all workers in bytes. */
  memory(): Promise<number>;
  /** Ends the workers. Calls in progress are rejected. */
  free(): void;
}

/** Returns the files of a model directory on a server, with the hashes of its manifest. */
export function modelDirectory(
  address: string | URL,
  options?: { signal?: AbortSignal },
): Promise<Record<string, ModelFile>>;
