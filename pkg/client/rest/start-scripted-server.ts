import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A scripted server for tests. */
export interface ScriptedServer {
  url: string;
  /** Received requests with their bodies. */
  requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[];
  server: Server;
  stop(): Promise<void>;
}

export type Answerer = (response: ServerResponse, request: IncomingMessage, count: number) => void;

export async function startScriptedServer(
  answer: Answerer,
  { isSecure = false }: { isSecure?: boolean } = {},
): Promise<ScriptedServer> {
  const requests: ScriptedServer['requests'] = [];
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({
        method: request.method!,
        url: request.url!,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      });
      answer(response, request, requests.length);
    });
  };
  const server = isSecure ? createSecureServer({ key: testKey, cert: testCertificate }, serve) : createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`, requests, server, stop };
}

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Generated for these tests only, valid for 127.0.0.1. */
const testKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRPk+pzf3N/ZFm0p2
/sucTGOAyGxKsMtmzmyM4h7TzUWhRANCAARjUxLolIqJf02PIIdFPvu4nocPhkBn
Id0IGZA/JEBUFiyD87FgC6sl85CuFt7rkZPimPdjbkvXoHg8Gi78qUgv
-----END PRIVATE KEY-----
`;
export const testCertificate = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUZHWmE2CE20g85tdApbZspxI9ZrkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMDA4MTE1MFoYDzIxMjYxMDI3
MDgxMTUwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARjUxLolIqJf02PIIdFPvu4nocPhkBnId0IGZA/JEBUFiyD87FgC6sl
85CuFt7rkZPimPdjbkvXoHg8Gi78qUgvo28wbTAdBgNVHQ4EFgQUcuFV2eWTtPzy
BFqaQyPU2VGs4pYwHwYDVR0jBBgwFoAUcuFV2eWTtPzyBFqaQyPU2VGs4pYwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhALAGVnqXo+GJx4Kr3U2xhNQxI37wWngd3h2ZF0z/BBTwAiEA
vGGiF2YgWiIx5vrpydUAbRf29GjAzhAP2dk4GNqI5GU=
-----END CERTIFICATE-----
`;
