/** The settings of traces, under the names that OpenTelemetry has given them. */
import { ConfigError, defineSetting, type Setting } from './setting.ts';

/** How traces that begin at this server are chosen. `parentbased_…`: a request with `traceparent` follows its caller's decision. */
export const tracesSamplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type TracesSampler = (typeof tracesSamplers)[number];

/** Where traces are sent, and which. It can be sent to a thread. */
export interface TracingConfig {
  /** The complete address, such as `http://localhost:4318/v1/traces`. */
  readonly url: string;
  /** Headers of each request to the collector. Secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** Further attributes of this server. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: TracesSampler;
  /** Of samplers by ratio: the part of traces that is sent, from 0 to 1. */
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
    'Complete address for traces, instead of `OTEL_EXPORTER_OTLP_ENDPOINT` with /v1/traces appended.',
  ),
  defineSetting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    '',
    'Headers for the collector, such as authorization=Bearer%20…, separated by commas, percent-encoded.',
    true,
  ),
  defineSetting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'http/json',
    'http/json or http/protobuf. Both send JSON over HTTP; grpc is not supported.',
  ),
  defineSetting('OTEL_SERVICE_NAME', 'tablinum', 'Name of this server in traces.'),
  defineSetting(
    'OTEL_RESOURCE_ATTRIBUTES',
    '',
    'Further attributes of this server in traces: name=value, separated by commas, percent-encoded.',
  ),
  defineSetting(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    'Which traces are sent: always_on, always_off, traceidratio, or one of them with parentbased_ before it.',
  ),
  defineSetting('OTEL_TRACES_SAMPLER_ARG', '1', 'Part of the traces that traceidratio sends, from 0 to 1.'),
  defineSetting('OTEL_SDK_DISABLED', 'false', 'true: no traces are sent.'),
];

const protocols = ['http/json', 'http/protobuf'];

/**
 * Reads the settings of traces.
 *
 * @param read the value of a setting, empty where it is not set.
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
  if (sampler === undefined) throw new ConfigError(`OTEL_TRACES_SAMPLER must be ${tracesSamplers.join(', ')}.`);
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
    throw new ConfigError(`${name} must look like http://localhost:4318.`);
  }
  return text;
}

/** A list such as `a=1,b=2%203`, as W3C Baggage writes it. */
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
