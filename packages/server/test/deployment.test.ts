/** The samples in deploy/ and the Dockerfile: valid, and with settings that exist and values that the server accepts. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig, settings } from '../src/base/config.ts';
import type { Json } from './support/json.ts';
import { isInstalled, prepareNginx } from './support/nginx.ts';

const page = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
/** Variables of other programs, next to those of the server. */
const otherVariables = ['PATH', 'MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_'];
const fileNames = settings.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name]));

/** Requires that each variable exists, and that the server accepts the values. Files of secrets are not read. */
function requireSettings(environment: Readonly<Record<string, string>>): void {
  const unknown = Object.keys(environment).filter(
    (name) => !fileNames.includes(name) && !otherVariables.includes(name),
  );
  expect(unknown).toEqual([]);
  const values = Object.entries(environment).filter(([name]) => !name.endsWith('_FILE'));
  expect(() => readConfig(Object.fromEntries(values))).not.toThrow();
  expect(values.length).toBeGreaterThan(2);
}

/** The value of `NAME=value` in each line that begins with a keyword. */
function readAssignments(text: string, keyword: RegExp): Record<string, string> {
  const lines = text.split('\n').filter((line) => keyword.test(line));
  const pairs = lines.flatMap((line) =>
    line
      .replace(keyword, '')
      .trim()
      .split(/\s+(?=[A-Z_]+=)/),
  );
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}

describe('deploy/', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-deploy-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('every sample is described in the documents', () => {
    const described = page('docs/deployment.md');
    for (const name of readdirSync(new URL('../../../deploy', import.meta.url)).filter((each) => each !== 'secrets'))
      expect(described, name).toContain(`deploy/${name}`);
  });

  test('compose.yaml: three servers without privileges, whose secrets and files exist', () => {
    const compose = parse(page('deploy/compose.yaml'), { merge: true }) as Json;
    const servers = Object.entries<Json>(compose.services).filter(([name]) => name.startsWith('server'));
    expect(servers).toHaveLength(3);
    for (const [name, server] of servers) {
      requireSettings(server.environment);
      expect(server).toMatchObject({ read_only: true, cap_drop: ['ALL'], restart: 'unless-stopped' });
      expect(server.volumes).toContain(`backups:${server.environment.BACKUP_DIR}`);
      expect(server.secrets.filter((each: string) => !(each in compose.secrets))).toEqual([]);
      const files = Object.values<string>(server.environment).filter((value) => value.startsWith('/run/secrets/'));
      expect(files.map((file) => file.replace('/run/secrets/', ''))).toEqual(server.secrets);
      expect(page('deploy/compose.nginx.conf')).toContain(`server ${name}:4180;`);
      const [subnet] = compose.networks.default.ipam.config;
      expect(server.environment.TRUSTED_PROXIES).toBe(subnet.subnet);
    }
    // As docs/operations.md says: all servers together need fewer connections than PostgreSQL has.
    const connections = servers.map(([, server]) => Number(server.environment.DATABASE_CONNECTIONS));
    expect(connections.reduce((sum, each) => sum + each, 0)).toBeLessThan(97);
  });

  test('kubernetes.yaml: a deployment without privileges, whose probes exist', () => {
    const documents = parseAllDocuments(page('deploy/kubernetes.yaml')).map((each) => each.toJS() as Json);
    const kinds = ['Deployment', 'Service', 'PodDisruptionBudget', 'Ingress', 'PersistentVolumeClaim'];
    expect(documents.map(({ kind }) => kind)).toEqual(kinds);
    const [deployment, service, , , claim] = documents;
    const [container] = deployment.spec.template.spec.containers;
    requireSettings(
      Object.fromEntries(container.env.map(({ name, value }: { name: string; value: string }) => [name, value])),
    );
    const { volumes } = deployment.spec.template.spec;
    expect(volumes).toContainEqual({ name: 'backups', persistentVolumeClaim: { claimName: claim.metadata.name } });
    expect(container.volumeMounts).toContainEqual({ name: 'backups', mountPath: '/backups' });
    expect(container.env).toContainEqual({ name: 'BACKUP_DIR', value: '/backups' });
    expect(deployment.spec.template.spec.securityContext.runAsNonRoot).toBe(true);
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
    const probes = ['readinessProbe', 'livenessProbe', 'startupProbe'].map((name) => container[name].httpGet);
    expect(probes.map(({ path }) => path)).toEqual(['/ready', '/live', '/live']);
    expect(container.ports[0].name).toBe(service.spec.ports[0].targetPort);
    expect(service.spec.selector).toEqual(deployment.spec.template.metadata.labels);
    const secrets = [...page('deploy/kubernetes.yaml').matchAll(/--from-literal=(\w+)=/g)].map((match) => match[1]);
    expect(secrets.filter((name) => !fileNames.includes(name!))).toEqual([]);
    expect(secrets).toHaveLength(3);
  });

  test('the Dockerfile only sets existing settings, and does not run as root', () => {
    const text = page('Dockerfile');
    requireSettings(readAssignments(text, /^ENV /));
    expect(text).toMatch(/^USER tablinum$/m);
    expect(text).toMatch(/^HEALTHCHECK .*\/ready/m);
  });

  test('the systemd unit is valid, and starts the server as npm installs it', (context) => {
    const text = page('deploy/tablinum.service');
    requireSettings(readAssignments(text, /^Environment=/));
    expect(text).toMatch(
      /^ExecStart=\S+\/node --max-semi-space-size=4 \S+\/@tablinum\/server\/bin\/tablinum.js start$/m,
    );
    if (!isInstalled('systemd-analyze')) return context.skip('systemd-analyze is not installed');
    const path = join(folder, 'tablinum.service');
    writeFileSync(path, text.replaceAll('/opt/tablinum/node_modules/.bin/node', process.execPath));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
    expect({ status, problems: stderr.split('\n').filter((line) => line.includes('tablinum')) }).toEqual({
      status: 0,
      problems: [],
    });
  });

  test('nginx.conf is valid', (context) => {
    if (!isInstalled('nginx')) {
      expect(process.env['CI'], 'nginx is needed in CI: apt-get install nginx-light').toBeUndefined();
      return context.skip('nginx is not installed');
    }
    mkdirSync(join(folder, 'nginx'));
    const config = prepareNginx({ folder: join(folder, 'nginx'), upstream: '127.0.0.1:1', port: 9 });
    execFileSync('nginx', ['-t', '-q', '-p', join(folder, 'nginx'), '-c', config], { stdio: 'pipe' });
  });

  test('Caddyfile is valid', (context) => {
    if (!isInstalled('caddy')) return context.skip('caddy is not installed');
    const path = join(folder, 'Caddyfile');
    writeFileSync(path, page('deploy/Caddyfile'));
    const options = { stdio: 'pipe', env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder } } as const;
    execFileSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', path], options);
  });
});
