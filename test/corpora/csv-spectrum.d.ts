declare module 'csv-spectrum' {
  /** One file, and what it means: a JSON array of objects, every value a text. */
  interface Spectrum {
    readonly name: string;
    readonly csv: Buffer;
    readonly json: Buffer;
  }

  const read: (done: (error: Error | null, files: readonly Spectrum[]) => void) => void;
  // biome-ignore lint/style/noDefaultExport: it is what the package has.
  export default read;
}
