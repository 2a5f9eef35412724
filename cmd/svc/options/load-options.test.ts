import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { OperatorError } from './operator-error.ts';
import { formatOptionTable } from './format-option-table.ts';
import { loadOptions } from './load-options.ts';
import { environmentName, optionNames, optionTable, type Options } from './option-table.ts';
import type { Option } from './option.ts';

let folder: string;
const made: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-config-'));
  made.push(folder);
});
afterAll(() => {
  for (const each of made) rmSync(each, { recursive: true });
});

interface Sources {
  files?: Record<string, string>;
  environment?: Record<string, string>;
  args?: string[];
}

function load({ files = {}, environment = {}, args = [] }: Sources): Options {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return loadOptions({ configFolder: folder, environment, args }).options;
}

test('every default has its type, and every name one environment variable', () => {
  for (const name of optionNames) {
    const option: Option<unknown> = optionTable[name];
    if (option.default !== '')
      expect({ name, value: option.type.parse(option.default) }).not.toEqual({ name, value: undefined });
    expect(formatOptionTable(optionNames)).toContain(name);
  }
  expect(new Set(optionNames.map(environmentName)).size).toBe(optionNames.length);
  expect(loadOptions({ environment: {}, args: [] }).options).toMatchObject({
    'svc.server.port': 8090,
    'svc.server.host': '127.0.0.1',
    'svc.server.drain-timeout': 30_000,
    'svc.access.port': 8091,
    'svc.data.dir': './data',
    'svc.database.url': undefined,
    'svc.security.basic-auth.disabled': true,
    'svc.api.max-page-size': 1000,
    'svc.api.exact-total-limit': 10_000,
    'svc.api.request-timeout': 30_000,
    'svc.storage.log-max-size': 1024 ** 3,
    'svc.storage.log-min-age': 600_000,
    'svc.http.cors.allowed-origins': [],
  });
});

describe('one option in three spellings', () => {
  const cases: { reason: string; sources: Sources; port: number }[] = [
    { reason: 'a nested key', sources: { files: { 'a.yaml': 'svc:\n  server:\n    port: 1\n' } }, port: 1 },
    { reason: 'a dotted key', sources: { files: { 'a.yaml': 'svc.server.port: 2\n' } }, port: 2 },
    { reason: 'a key that is both', sources: { files: { 'a.yml': 'svc.server: { port: 3 }\n' } }, port: 3 },
    {
      reason: 'the later file',
      sources: { files: { 'b.yaml': 'svc.server.port: 5', 'a.yaml': 'svc.server.port: 4' } },
      port: 5,
    },
    { reason: 'a quoted number', sources: { files: { 'a.yaml': 'svc.server.port: "6"' } }, port: 6 },
    {
      reason: 'the environment, over a file',
      sources: { files: { 'a.yaml': 'svc.server.port: 1' }, environment: { SVC_SERVER_PORT: '7' } },
      port: 7,
    },
    {
      reason: 'a flag, over both',
      sources: {
        files: { 'a.yaml': 'svc.server.port: 1' },
        environment: { SVC_SERVER_PORT: '2' },
        args: ['--svc.server.port=8'],
      },
      port: 8,
    },
    { reason: 'a flag and its value apart', sources: { args: ['--svc.server.port', '9'] }, port: 9 },
    { reason: 'the last of two flags', sources: { args: ['--svc.server.port=1', '--svc.server.port=10'] }, port: 10 },
    {
      reason: 'an empty value is the default',
      sources: { files: { 'a.yaml': 'svc.server.port: 1' }, environment: { SVC_SERVER_PORT: '' } },
      port: 8090,
    },
    {
      reason: 'a key without a value too',
      sources: { files: { 'a.yaml': 'svc:\n  server:\n    port:\n' } },
      port: 8090,
    },
    { reason: 'an empty file', sources: { files: { 'a.yaml': '# nothing\n' } }, port: 8090 },
    { reason: 'an empty part of a file', sources: { files: { 'a.yaml': 'svc:\n  server:\n' } }, port: 8090 },
    {
      reason: 'other files are ignored',
      sources: { files: { 'a.json': '{', '.a.yaml': 'x' } },
      port: 8090,
    },
    {
      reason: 'variables of others, or of the tests, are ignored',
      sources: { environment: { PORT: '1', SVCX: '1', SVC_TEST_DATABASE: '1' } },
      port: 8090,
    },
  ];
  test.each(cases)('$reason', ({ sources, port }) => {
    expect(load(sources)['svc.server.port']).toBe(port);
  });

  test('values are kept as written', () => {
    const files = {
      'a.yaml':
        'svc:\n  http: { cors: { allowed-origins: [https://a.example, "http://b.example:81"] } }\n  data: { dir: 0123 }\n',
    };
    const options = load({
      files,
      args: ['--svc.security.basic-auth.disabled', '--svc.database.url=postgres://u:p=1@h/d'],
    });
    expect(options['svc.http.cors.allowed-origins']).toEqual(['https://a.example', 'http://b.example:81']);
    expect(options['svc.data.dir']).toBe('0123');
    expect(options['svc.security.basic-auth.disabled']).toBe(true);
    expect(options['svc.database.url']).toBe('postgres://u:p=1@h/d');
  });

  test('subfolders of the config folder are not read, and an absent folder is accepted if nobody named it', () => {
    mkdirSync(join(folder, 'samples.yaml'));
    expect(load({})['svc.server.port']).toBe(8090);
    expect(() => loadOptions({ configFolder: join(folder, 'absent'), environment: {}, args: [] })).toThrow(
      /absent cannot be read \(ENOENT\)/,
    );
  });
});

describe('a secret in a file', () => {
  const files = { url: 'postgres://u:p=1@h/d\n', token: '  pat_1\r\n', password: 'two words', empty: '\n' };
  const file = (name: string): string => join(folder, name);

  test('is read as the value of its option, without the line end', () => {
    const options = load({
      files,
      environment: { SVC_DATABASE_URL_FILE: file('url') },
      args: [
        `--svc.security.initial-admin-token-file=${file('token')}`,
        `--svc.security.controller-manager-token-file=${file('token')}`,
        `--svc.security.access-server-token-file=${file('token')}`,
        `--svc.security.initial-admin-password-file=${file('password')}`,
      ],
    });
    expect(options).toMatchObject({
      'svc.database.url': 'postgres://u:p=1@h/d',
      'svc.security.initial-admin-token': 'pat_1',
      'svc.security.controller-manager-token': 'pat_1',
      'svc.security.access-server-token': 'pat_1',
      'svc.security.initial-admin-password': 'two words',
    });
  });

  test.each([
    {
      reason: 'absent',
      name: 'absent',
      more: [],
      sentence: /^svc\.database\.url-file cannot be read: .*absent \(ENOENT\)\.$/,
    },
    {
      reason: 'empty',
      name: 'empty',
      more: [],
      sentence: /^svc\.database\.url-file holds no value for svc\.database\.url: /,
    },
    {
      reason: 'not text',
      name: 'zero',
      more: [],
      sentence: /^svc\.database\.url-file holds no value for svc\.database\.url: /,
    },
    {
      reason: 'large',
      name: 'large',
      more: [],
      sentence: /^svc\.database\.url-file holds more than one value: .* has 65537 bytes\.$/,
    },
    {
      reason: 'next to a value',
      name: 'url',
      more: ['--svc.database.url=postgres://h/d'],
      sentence: /^svc\.database\.url and svc\.database\.url-file are both set; remove one\.$/,
    },
  ])('ends the start if it is $reason', ({ name, more, sentence }) => {
    const written = { ...files, zero: 'hunter2\0', large: 'a'.repeat(65_537) };
    const start = (): Options => load({ files: written, args: [`--svc.database.url-file=${file(name)}`, ...more] });
    expect(start).toThrow(OperatorError);
    expect(start).toThrow(sentence);
    expect(start).not.toThrow(/hunter2/);
  });
});

test('the shipped configuration changes nothing', () => {
  const configFolder = fileURLToPath(new URL('../../../config', import.meta.url));
  expect(loadOptions({ configFolder, environment: {}, args: [] }).options).toEqual(
    loadOptions({ configFolder: folder, environment: {}, args: [] }).options,
  );
});

test('it shows existing options only, with their defaults or examples', () => {
  const shown = readFileSync(new URL('../../../config/svc.yaml', import.meta.url), 'utf8').replaceAll(
    /^( +)# /gm,
    '$1',
  );
  const file = shown.replaceAll(/^ +#? *[A-Z].*$/gm, '');
  const {
    'svc.database.url': url,
    'svc.http.cors.allowed-origins': origins,
    ...rest
  } = load({ files: { 'a.yaml': file } });
  expect([url, origins]).toEqual(['postgres://svc:password@127.0.0.1:5432/svc', ['https://console.example.com']]);
  expect(loadOptions({ environment: {}, args: [] }).options).toMatchObject(rest);
});

describe('a start ends with one sentence', () => {
  const cases: { reason: string; sources: Sources; sentence: RegExp }[] = [
    {
      reason: 'unknown flag',
      sources: { args: ['--svc.server.prot=1'] },
      sentence: /no option --svc\.server\.prot; did you mean --svc\.server\.port\?$/,
    },
    {
      reason: 'unknown flag without a similar name',
      sources: { args: ['--verbose'] },
      sentence: /no option --verbose; svc --help lists them all\.$/,
    },
    {
      reason: 'camel case',
      sources: { args: ['--svc.server.drainTimeout=1s'] },
      sentence: /did you mean --svc\.server\.drain-timeout\?$/,
    },
    {
      reason: 'a property name of Object',
      sources: { args: ['--constructor=1'] },
      sentence: /no option --constructor;/,
    },
    {
      reason: 'unknown variable',
      sources: { environment: { SVC_SERVER_PORTS: '1' } },
      sentence: /SVC_SERVER_PORTS; did you mean SVC_SERVER_PORT\?$/,
    },
    {
      reason: 'unknown key',
      sources: { files: { 'a.yaml': 'svc: { server: { prt: 1 } }' } },
      sentence: /no option svc\.server\.prt, which .*a\.yaml sets; did you mean svc\.server\.port\?$/,
    },
    {
      reason: 'unknown key without a value',
      sources: { files: { 'a.yaml': 'svc.serv:' } },
      sentence: /no option svc\.serv, which/,
    },
    {
      reason: 'key of another program',
      sources: { files: { 'a.yaml': 'logging: { level: info }' } },
      sentence: /no option logging\.level, which/,
    },
    {
      reason: 'map for a value',
      sources: { files: { 'a.yaml': 'svc.server.port: { a: 1 }' } },
      sentence: /no option svc\.server\.port\.a/,
    },
    {
      reason: 'nested list for a value',
      sources: { files: { 'a.yaml': 'svc.server.port: [[1]]' } },
      sentence: /must be a value or a list of values/,
    },
    {
      reason: 'twice in one file',
      sources: { files: { 'a.yaml': 'svc.server.port: 1\nsvc: { server: { port: 2 } }' } },
      sentence: /sets svc\.server\.port twice/,
    },
    {
      reason: 'the same key twice',
      sources: { files: { 'a.yaml': 'svc.server.port: 1\nsvc.server.port: 2' } },
      sentence: /not valid YAML at line 2/,
    },
    { reason: 'not YAML', sources: { files: { 'a.yaml': 'svc: {' } }, sentence: /a\.yaml is not valid YAML/ },
    { reason: 'not a map', sources: { files: { 'a.yaml': '- 1' } }, sentence: /holds no options/ },
    {
      reason: 'malformed flag',
      sources: { args: ['--svc.server.port=80x'] },
      sentence: /--svc\.server\.port is malformed: "80x" is not a port/,
    },
    {
      reason: 'malformed variable',
      sources: { environment: { SVC_SERVER_PORT: '-1' } },
      sentence: /SVC_SERVER_PORT is malformed: "-1"/,
    },
    {
      reason: 'malformed in a file',
      sources: { files: { 'a.yaml': 'svc.server.port: 70000' } },
      sentence: /svc\.server\.port in .*a\.yaml is malformed/,
    },
    {
      reason: 'malformed though overridden',
      sources: { environment: { SVC_SERVER_PORT: 'x' }, args: ['--svc.server.port=1'] },
      sentence: /SVC_SERVER_PORT is malformed/,
    },
    { reason: 'no value', sources: { args: ['--svc.server.port'] }, sentence: /--svc\.server\.port needs a value/ },
    {
      reason: 'a flag for a value',
      sources: { args: ['--svc.server.port', '--svc.data.dir=x'] },
      sentence: /--svc\.server\.port needs a value/,
    },
    {
      reason: 'a stray word',
      sources: { args: ['--svc.server.port=1', '8090'] },
      sentence: /neither a command nor an option/,
    },
    {
      reason: 'too short a memory',
      sources: { args: ['--svc.storage.log-min-age=9m'] },
      sentence: /a duration from 10m/,
    },
    {
      reason: 'a wildcard origin',
      sources: { args: ['--svc.http.cors.allowed-origins=*'] },
      sentence: /each is an origin/,
    },
    {
      reason: 'an origin with a path',
      sources: { args: ['--svc.http.cors.allowed-origins=https://a.example/'] },
      sentence: /each is an origin/,
    },
    ...[
      'svc.example.com',
      'ftp://svc.example.com',
      'https://svc.example.com/access',
      'https://svc.example.com/?a',
      'https://svc.example.com/#a',
      'https://u:p@svc.example.com',
      'https://',
      'https://a b',
      'https://a:99999',
      'https://a\\b',
    ].flatMap((url) =>
      (['server', 'access'] as const).map((service) => ({
        reason: `${url} as the address of svc.${service}`,
        sources: { args: [`--svc.${service}.public-url=${url}`] },
        sentence: /--svc\.\w+\.public-url is malformed: ".*" is not the address of a server and nothing more/,
      })),
    ),
    {
      reason: 'neither true nor false',
      sources: { environment: { SVC_SECURITY_BASIC_AUTH_DISABLED: 'no' } },
      sentence: /is not true or false/,
    },
  ];
  test.each(cases)('$reason', ({ sources, sentence }) => {
    expect(() => load(sources)).toThrow(OperatorError);
    expect(() => load(sources)).toThrow(sentence);
  });

  const secret = 'hunter2-hunter2';
  const secrets: { reason: string; sources: Sources }[] = [
    { reason: 'a misspelled flag', sources: { args: [`--svc.security.initial-admin-passwort=${secret}`] } },
    { reason: 'a misspelled variable', sources: { environment: { SVC_DATABASE_URI: secret } } },
    { reason: 'a misspelled key', sources: { files: { 'a.yaml': `svc.database.uri: ${secret}` } } },
    { reason: 'broken YAML', sources: { files: { 'a.yaml': `svc.database.url: "${secret}` } } },
    { reason: 'a stray word', sources: { args: [secret] } },
    { reason: 'a malformed value', sources: { args: [`--svc.security.initial-admin-token=${secret}\0`] } },
  ];
  test.each(secrets)('that does not repeat a secret: $reason', ({ sources }) => {
    expect(() => load(sources)).toThrow(OperatorError);
    expect(() => load(sources)).not.toThrow(secret);
  });

  test('for any command line', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string(),
            fc.string().map((text) => `--${text}`),
            fc.constantFrom(...optionNames.map((name) => `--${name}`)),
          ),
        ),
        (args) => {
          try {
            loadOptions({ environment: {}, args });
          } catch (error) {
            expect(error).toBeInstanceOf(OperatorError);
          }
        },
      ),
    );
  });
});

test.each([
  ['https://svc.example.com', 'https://svc.example.com'],
  ['HTTPS://SVC.example.com:443/', 'https://svc.example.com'],
  ['http://10.0.0.1:8091', 'http://10.0.0.1:8091'],
  ['http://[::1]:8091/', 'http://[::1]:8091'],
])('the public address %s is %s', (text, value) => {
  const options = load({ environment: { SVC_ACCESS_PUBLIC_URL: text, SVC_SERVER_PUBLIC_URL: text } });
  expect([options['svc.access.public-url'], options['svc.server.public-url']]).toEqual([value, value]);
});

describe('quantities', () => {
  const cases: {
    option: 'svc.api.request-timeout' | 'svc.storage.log-max-size';
    text: string;
    value: number | undefined;
  }[] = [
    { option: 'svc.api.request-timeout', text: '1500ms', value: 1500 },
    { option: 'svc.api.request-timeout', text: '2m', value: 120_000 },
    { option: 'svc.api.request-timeout', text: '1h', value: 3_600_000 },
    { option: 'svc.api.request-timeout', text: '2h', value: undefined },
    { option: 'svc.api.request-timeout', text: '30', value: undefined },
    { option: 'svc.api.request-timeout', text: '1.5s', value: undefined },
    { option: 'svc.api.request-timeout', text: '-1s', value: undefined },
    { option: 'svc.api.request-timeout', text: '30 s', value: undefined },
    { option: 'svc.storage.log-max-size', text: '512MiB', value: 512 * 1024 ** 2 },
    { option: 'svc.storage.log-max-size', text: '2TiB', value: 2 * 1024 ** 4 },
    { option: 'svc.storage.log-max-size', text: '1GB', value: undefined },
    { option: 'svc.storage.log-max-size', text: '1KiB', value: undefined },
    { option: 'svc.storage.log-max-size', text: '999999999999TiB', value: undefined },
  ];
  test.each(cases)('$text of $option', ({ option, text, value }) => {
    const start = (): unknown => load({ args: [`--${option}=${text}`] })[option];
    if (value === undefined) expect(start).toThrow(/is malformed/);
    else expect(start()).toBe(value);
  });
});
