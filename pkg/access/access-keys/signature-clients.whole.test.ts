import { execFile, execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { request as httpRequest, type ClientRequest } from 'node:http';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { jsonAnswer, type Operation } from '../operations/operation.ts';
import { startKeyTest, type KeyTest, type TestKey } from './keytest/start-key-test.ts';

/**
 * Clients that are independent of this code: the npm package of the draft's first author, and signers written from the
 * published rules in the languages of API users. Each test sends a request with a program that prints `<status>
 * <body>`.
 */
const echo: Operation[] = (['GET', 'POST'] as const).map((method) => ({
  method,
  path: '/api/v1/echo/{name}/',
  operationId: `echo${method}`,
  access: 'user',
  handle: async ({ caller, params, query, request }) =>
    jsonAnswer(200, {
      user: caller.username,
      name: params['name'],
      query: query.get('q'),
      body: (await request.body()).toString(),
    }),
}));

let server: KeyTest;
let key: TestKey;
beforeAll(async () => {
  server = await startKeyTest({ operations: echo });
  key = await server.addKey();
});
afterAll(() => server.stop());

const run = promisify(execFile);

function isThere(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore', timeout: 20_000 });
    return true;
  } catch {
    process.stderr.write(`WARNING: ${program} is not there, so what it signs is not tested.\n`);
    return false;
  }
}
const testWith = (isPossible: boolean): typeof test | typeof test.skip => (isPossible ? test : test.skip);

interface Target {
  target: string;
  method?: 'GET' | 'POST';
  body?: string;
  /** The name that the operation must read from the target. */
  name: string;
  query: string | null;
}

const targets: readonly Target[] = [
  { target: '/api/v1/echo/x/', name: 'x', query: null },
  { target: '/api/v1/echo/x', name: 'x', query: null },
  { target: '/api/v1/echo/x/?', name: 'x', query: null },
  { target: '/api/v1/echo/x/?q=a+b%20c&q=2&b[]=%2F&=&&c', name: 'x', query: 'a b c' },
  { target: '/api/v1/echo/Zo%C3%AB%20%e4%b8%ad/?q=%C3%A9%E2%82%AC', name: 'Zoë 中', query: 'é€' },
  { target: '/api/v1/echo/x/?q=%c3%a9&q=%C3%A9', name: 'x', query: 'é' },
  { target: '/api/v1/echo/x/', method: 'POST', body: '{"a":"ë"}', name: 'x', query: null },
];

function expectEcho(printed: string, { name, query, body = '' }: Target): void {
  const [status, ...rest] = printed.split(' ');
  expect(status).toBe('200');
  expect(JSON.parse(rest.join(' '))).toEqual({ user: 'mia', name, query, body });
}

describe('the npm package http-signature', () => {
  interface HttpSignature {
    sign(
      request: ClientRequest,
      options: { keyId: string; key: string; algorithm: string; headers: string[] },
    ): boolean;
  }
  const httpSignature = createRequire(import.meta.url)('http-signature') as HttpSignature;
  const send = (
    { target, method = 'GET', body }: Target,
    options: { algorithm: string; headers: string[] },
  ): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = httpRequest(
        {
          host: '127.0.0.1',
          port: server.port,
          path: target,
          method,
          agent: false,
          headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
        },
        (response) => {
          let text = `${response.statusCode} `;
          response
            .setEncoding('utf8')
            .on('data', (chunk: string) => (text += chunk))
            .on('end', () => resolve(text));
        },
      );
      httpSignature.sign(request, { ...options, keyId: key.keyId, key: key.secret });
      request.on('error', reject).end(body);
    });

  test.each(targets)('$method $target', async (target) => {
    expectEcho(
      await send(target, { algorithm: 'hmac-sha256', headers: ['(request-target)', 'accept', 'date'] }),
      target,
    );
  });

  test.each([
    { algorithm: 'hmac-sha256', headers: ['date', '(request-target)'] },
    { algorithm: 'HMAC-SHA512', headers: ['(request-target)', 'host', 'date', 'content-type'] },
  ])('$algorithm $headers', async (options) => {
    expectEcho(await send(targets[4]!, options), targets[4]!);
  });
});

describe('a shell with curl and openssl', () => {
  const isPossible = isThere('bash', '-c', 'curl --version && openssl version && date -u');
  const script = `
    set -euo pipefail
    export LC_ALL=C
    signed_date=$(date "$DATE_FORMAT")
    method=$(printf %s "$METHOD" | tr '[:upper:]' '[:lower:]')
    headers='(request-target) accept date'
    lines="(request-target): $method $TARGET
accept: application/json
date: $signed_date"
    extra=()
    if [ -n "$BODY" ]; then
      digest="SHA-256=$(printf %s "$BODY" | openssl dgst -sha256 -binary | openssl base64 -A)"
      headers="$headers digest"
      lines="$lines
digest: $digest"
      extra=(-H "Digest: $digest" -H 'Content-Type: application/json' --data-binary "$BODY")
    fi
    signature=$(printf %s "$lines" | openssl dgst -sha256 -hmac "$SECRET" -binary | openssl base64 -A)
    curl --silent --show-error --globoff --path-as-is --max-time 20 -X "$METHOD" -w '\\n%{http_code}' "\${extra[@]}" \\
      -H 'Accept: application/json' -H "Date: $signed_date" \\
      -H "Authorization: Signature keyId=\\"$KEY\\",algorithm=\\"hmac-sha256\\",headers=\\"$headers\\",signature=\\"$signature\\"" \\
      "$URL$TARGET" | awk 'NR == 1 { body = $0 } END { print $0, body }'`;
  const send = async (
    { target, method = 'GET', body = '' }: Target,
    { format = '+%a, %d %b %Y %H:%M:%S GMT', zone = 'UTC' } = {},
  ): Promise<string> => {
    const env = {
      PATH: process.env['PATH'],
      URL: server.url,
      TARGET: target,
      METHOD: method,
      BODY: body,
      KEY: key.keyId,
      SECRET: key.secret,
      DATE_FORMAT: format,
      TZ: zone,
    };
    return (await run('bash', ['-c', script], { env, timeout: 60_000 })).stdout.trim();
  };

  testWith(isPossible)('all targets', async () => {
    const answers = await Promise.all(targets.map((target) => send(target)));
    for (const [i, answer] of answers.entries()) expectEcho(answer, targets[i]!);
  });

  testWith(isPossible)('every way to write a date', async () => {
    const formats = [
      { format: '+%a, %-d %b %Y %H:%M:%S GMT', zone: 'UTC' },
      { format: '+%a, %-d %b %Y %H:%M:%S %z', zone: 'CST-8' },
      { format: '+%a, %d %b %Y %H:%M:%S %z', zone: 'NST3:30' },
      { format: '+%A, %d-%b-%y %H:%M:%S GMT', zone: 'UTC' },
      { format: '+%a %b %e %H:%M:%S %Y', zone: 'UTC' },
    ];
    const answers = await Promise.all(formats.map((format) => send(targets[0]!, format)));
    for (const answer of answers) expectEcho(answer, targets[0]!);
  });

  testWith(isPossible)('local time that says GMT is refused', async () => {
    expect(await send(targets[0]!, { format: '+%a, %d %b %Y %H:%M:%S GMT', zone: 'CST-8' })).toMatch(/^401 /);
  });

  const rfc9421 = `
    set -euo pipefail
    created=$(date +%s)
    input="(\\"@method\\" \\"@authority\\" \\"@path\\" \\"@query\\");created=$created;keyid=\\"$KEY\\";alg=\\"hmac-sha256\\""
    path=\${TARGET%%\\?*}
    case $TARGET in *\\?*) query="?\${TARGET#*\\?}" ;; *) query='?' ;; esac
    base="\\"@method\\": GET
\\"@authority\\": \${URL#http://}
\\"@path\\": $path
\\"@query\\": $query
\\"@signature-params\\": $input"
    signature=$(printf %s "$base" | openssl dgst -sha256 -hmac "$SECRET" -binary | openssl base64 -A)
    curl --silent --show-error --globoff --path-as-is --max-time 20 -w '\\n%{http_code}' -H "Signature-Input: sig1=$input" -H "Signature: sig1=:$signature:" "$URL$TARGET" \\
      | awk 'NR == 1 { body = $0 } END { print $0, body }'`;
  testWith(isPossible)('by RFC 9421', async () => {
    const gets = targets.filter(({ method }) => method === undefined);
    const answers = await Promise.all(
      gets.map(async ({ target }) =>
        (
          await run('bash', ['-c', rfc9421], {
            env: { PATH: process.env['PATH'], URL: server.url, TARGET: target, KEY: key.keyId, SECRET: key.secret },
            timeout: 60_000,
          })
        ).stdout.trim(),
      ),
    );
    for (const [i, answer] of answers.entries()) expectEcho(answer, gets[i]!);
  });
});

describe('Python, with its standard library', () => {
  const isPossible = isThere('python3', '-c', 'import hmac, http.client');
  const script = `
import base64, email.utils, hashlib, hmac, http.client, json, os, time

key, secret, port = os.environ['KEY'], os.environ['SECRET'].encode(), int(os.environ['PORT'])
b64 = lambda data: base64.b64encode(data).decode()

def draft(method, target, headers, names):
    lower = {name.lower(): value for name, value in headers.items()}
    lines = ['(request-target): %s %s' % (method.lower(), target) if name == '(request-target)' else '%s: %s' % (name, lower[name]) for name in names]
    signature = b64(hmac.new(secret, '\\n'.join(lines).encode(), hashlib.sha256).digest())
    return {'authorization': 'Signature keyId="%s",algorithm="hmac-sha256",signature="%s",headers="%s"' % (key, signature, ' '.join(names))}

def rfc9421(method, target, headers, names):
    lower = {name.lower(): value for name, value in headers.items()}
    params = '(%s);created=%d;keyid="%s"' % (' '.join('"%s"' % name for name in names), time.time(), key)
    derived = {'@method': method, '@target-uri': 'http://127.0.0.1:%d%s' % (port, target), '@authority': '127.0.0.1:%d' % port}
    lines = ['"%s": %s' % (name, derived.get(name) or lower[name]) for name in names] + ['"@signature-params": ' + params]
    signature = b64(hmac.new(secret, '\\n'.join(lines).encode(), hashlib.sha256).digest())
    return {'Signature-Input': 'py=' + params, 'Signature': 'py=:%s:' % signature}

for call in json.loads(os.environ['CALLS']):
    for sign in (draft, rfc9421):
        body = call.get('body', '').encode()
        method, target = call.get('method', 'GET'), call['target']
        headers = {'accept': 'application/json', 'date': email.utils.formatdate(usegmt=True)}
        names = ['date', '(request-target)', 'accept'] if sign is draft else ['@target-uri', 'accept', '@method']
        if body:
            headers['Content-Type'] = 'application/json'
            if sign is draft:
                headers['Digest'] = 'SHA-512=' + b64(hashlib.sha512(body).digest())
                names.append('digest')
            else:
                headers['Content-Digest'] = 'sha-256=:' + b64(hashlib.sha256(body).digest()) + ':'
                names.append('content-digest')
        headers.update(sign(method, target, headers, names))
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
        connection.request(method, target, body or None, headers)
        response = connection.getresponse()
        print(response.status, response.read().decode(), flush=True)
        connection.close()
`;
  testWith(isPossible)('by the draft and by RFC 9421', async () => {
    const env = {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      PYTHONIOENCODING: 'utf-8',
      KEY: key.keyId,
      SECRET: key.secret,
      PORT: String(server.port),
      CALLS: JSON.stringify(targets),
    };
    const { stdout } = await run('python3', ['-c', script], { env, timeout: 60_000 });
    const answers = stdout.trim().split('\n');
    expect(answers).toHaveLength(2 * targets.length);
    for (const [i, answer] of answers.entries()) expectEcho(answer, targets[Math.floor(i / 2)]!);
  });
});
