import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

const accessPaths = /^\/(?:api\/v1\/(?:authentication|users|orgs|rbac|audits)|api\/docs|login|settings)(?:\/|$)/;
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

export interface ConsoleOrigin {
  url: string;
  stop(): Promise<void>;
}

/**
 * One origin, as a browser sees it: the built console under the policy that it must live with, the platform, and the
 * paths of access management.
 */
export async function startConsoleOrigin(options: {
  dist: string;
  platform: string;
  access: string;
}): Promise<ConsoleOrigin> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch((error: Error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => stop(server),
  };
}

async function stop(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { dist, platform, access }: { dist: string; platform: string; access: string },
): Promise<void> {
  const path = new URL(request.url!, 'http://localhost').pathname;
  if (!path.startsWith('/console/')) {
    forward(request, response, accessPaths.test(path) ? access : platform);
    return;
  }
  if (path.startsWith('/console/assets/')) {
    const name = normalize(path.slice('/console/'.length));
    response.setHeader('Content-Type', types[extname(name)] ?? 'application/octet-stream');
    response.end(await readFile(join(dist, name)));
    return;
  }
  const nonce = randomBytes(16).toString('base64');
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Security-Policy', policyOf(nonce));
  response.end((await readFile(join(dist, 'index.html'), 'utf8')).replaceAll('__CSP_NONCE__', nonce));
}

/** The strictest policy that the console works under. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

function forward(request: IncomingMessage, response: ServerResponse, target: string): void {
  const { method, headers } = request;
  const forwarded = httpRequest(new URL(request.url!, target), { method, headers, agent: false });
  forwarded.once('response', (answered) => {
    response.writeHead(answered.statusCode!, answered.headers);
    response.flushHeaders();
    answered.on('error', () => response.destroy());
    answered.pipe(response);
  });
  forwarded.once('error', () => response.destroy());
  response.once('close', () => forwarded.destroy());
  request.pipe(forwarded);
}
