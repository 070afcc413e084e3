import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** Passes spans to an exporter, and logs a warning when exports begin to fail. Spans that cannot be sent are discarded. */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #warn: (message: string) => void;
  #isFailing = false;

  constructor(exporter: SpanExporter, warn: (message: string) => void) {
    this.#exporter = exporter;
    this.#warn = warn;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      const failed = result.error !== undefined;
      // The message may contain the reply of the collector, so only the code is reported.
      if (failed && !this.#isFailing) this.#warn(describeFailure(result.error));
      this.#isFailing = failed;
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }
}

function describeFailure(error: unknown): string {
  const { code, name } = error as { readonly code?: string | number; readonly name?: string };
  return `Traces cannot be sent to the collector (${code ?? name ?? 'unknown error'}). They are discarded until it responds.`;
}
