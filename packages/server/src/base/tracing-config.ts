/** The settings of traces, with the names that OpenTelemetry defines. */
import { ConfigError, defineSetting, type Setting } from './setting.ts';

/** Which traces that begin at this server are sent. `parentbased_…`: the caller of a request with `traceparent` decides instead. */
export const tracesSamplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type TracesSampler = (typeof tracesSamplers)[number];

/** Which traces are sent, and where. The object can be sent to a thread. */
export interface TracingConfig {
  /** The complete address, such as `http://localhost:4318/v1/traces`. */
  readonly url: string;
  /** Headers of each request to the collector. They may contain secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** Further attributes of this server. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: TracesSampler;
  /** The fraction of traces that samplers by ratio send, from 0 to 1. */
  readonly ratio: number;
}

/** Every environment variable about traces that the server reads. */
export const tracingSettings: readonly Setting[] = [
  defineSetting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    '',
    'Address of an OpenTelemetry collector, such as http://localhost:4318, to which traces are sent; empty: no traces.',
  ),
  defineSetting(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    '',
    'Complete address to which traces are sent; it replaces `OTEL_EXPORTER_OTLP_ENDPOINT`, to which /v1/traces is appended.',
  ),
  defineSetting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    '',
    'Headers of requests to the collector, such as authorization=Bearer%20…: name=value, separated by commas, values percent-encoded.',
    true,
  ),
  defineSetting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'http/json',
    'http/json or http/protobuf. With both, the server sends JSON over HTTP; grpc is not supported.',
  ),
  defineSetting('OTEL_SERVICE_NAME', 'tablinum', 'Name of this server in traces.'),
  defineSetting(
    'OTEL_RESOURCE_ATTRIBUTES',
    '',
    'Further attributes of this server in traces: name=value, separated by commas, values percent-encoded.',
  ),
  defineSetting(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    'Which traces are sent: always_on, always_off or traceidratio. With the prefix parentbased_, the caller of a request with traceparent decides instead.',
  ),
  defineSetting('OTEL_TRACES_SAMPLER_ARG', '1', 'Fraction of the traces that traceidratio sends, from 0 to 1.'),
  defineSetting('OTEL_SDK_DISABLED', 'false', 'true: no traces are sent.'),
];

const protocols = ['http/json', 'http/protobuf'];

/**
 * Reads the settings of traces.
 *
 * @param read the value of a setting, empty if it is not set.
 * @returns null if no traces are sent; the other settings are not checked then, because they may be those of other programs.
 * @throws ConfigError naming the setting and the cure.
 */
export function readTracingConfig(read: (name: string) => string): TracingConfig | null {
  const url = readEndpoint(read);
  if (url === null || read('OTEL_SDK_DISABLED').toLowerCase() === 'true') return null;
  if (!protocols.includes(read('OTEL_EXPORTER_OTLP_PROTOCOL')))
    throw new ConfigError(
      'OTEL_EXPORTER_OTLP_PROTOCOL must be http/json or http/protobuf. Use the HTTP port of the collector, which is usually 4318.',
    );
  const sampler = tracesSamplers.find((each) => each === read('OTEL_TRACES_SAMPLER'));
  if (sampler === undefined) throw new ConfigError(`OTEL_TRACES_SAMPLER must be one of ${tracesSamplers.join(', ')}.`);
  const ratio = Number(read('OTEL_TRACES_SAMPLER_ARG'));
  if (sampler.endsWith('traceidratio') && !(ratio >= 0 && ratio <= 1))
    throw new ConfigError(
      'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, such as 0.1 for a tenth of the traces.',
    );
  const resource = readPairs('OTEL_RESOURCE_ATTRIBUTES', read);
  const headers = readPairs('OTEL_EXPORTER_OTLP_HEADERS', read);
  const serviceName = resource['service.name'] ?? read('OTEL_SERVICE_NAME');
  return { url, headers, serviceName, resource, sampler, ratio };
}

function readEndpoint(read: (name: string) => string): string | null {
  const complete = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = read('OTEL_EXPORTER_OTLP_ENDPOINT');
  const text = complete || (base && `${base.replace(/\/+$/, '')}/v1/traces`);
  if (text === '') return null;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    const name = complete ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT';
    throw new ConfigError(
      `${name} must be an address such as ${complete ? 'http://localhost:4318/v1/traces' : 'http://localhost:4318'}.`,
    );
  }
  return text;
}

/** Reads a list such as `a=1,b=2%203`, in the format of W3C Baggage. */
function readPairs(name: string, read: (name: string) => string): Record<string, string> {
  const pairs = read(name)
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key = '', text = ''] = /^([^=\s]+)\s*=\s*(.*)$/.exec(pair) ?? [];
      const value = decodeText(text);
      if (key === '' || value === null)
        throw new ConfigError(
          `${name} must look like name=value, with commas between pairs and percent-encoded values.`,
        );
      return [key, value];
    }),
  );
}

function decodeText(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
