const progressMilliseconds = 200;
const barWidth = 24;

/** The progress of an upload, and then of the rows, in a terminal. Without a terminal, nothing is shown. */
export class ImportProgressBar {
  #shown = Number.NEGATIVE_INFINITY;
  #length = 0;

  /** Passes bytes on, and counts them. @param size null: unknown. */
  async *watchUpload(bytes: AsyncIterable<Buffer>, size: number | null): AsyncGenerator<Buffer> {
    let sent = 0;
    for await (const piece of bytes) {
      sent += piece.length;
      this.#show(`Upload ${formatBar(sent, size)}${formatSize(sent)}${size === null ? '' : ` of ${formatSize(size)}`}`);
      yield piece;
    }
  }

  /** @param rows null: not counted yet. */
  showRows(processed: number, rows: number | null): void {
    this.#show(`Import ${formatBar(processed, rows)}${processed}${rows === null ? '' : ` of ${rows}`} rows`);
  }

  /** Clears the line. */
  finish(): void {
    if (this.#length > 0) process.stderr.write(`\r${' '.repeat(this.#length)}\r`);
    this.#length = 0;
  }

  #show(text: string): void {
    if (!process.stderr.isTTY || performance.now() - this.#shown < progressMilliseconds) return;
    this.#shown = performance.now();
    process.stderr.write(`\r${text.padEnd(this.#length)}`);
    this.#length = Math.max(this.#length, text.length);
  }
}

function formatBar(done: number, all: number | null): string {
  if (all === null || all === 0) return '';
  const full = Math.min(barWidth, Math.floor((barWidth * done) / all));
  return `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}] `;
}

function formatSize(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
