import { randomBytes, webcrypto } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '#pkg/apimachinery/index';
import type { JsonApiObject } from '../rest/strategy.ts';

/** Answers a review; the default converts as `convertServer` does. */
export type WebhookAnswer = (response: ServerResponse, review: TestReview) => void;

export interface TestReview {
  request: { uid: string; desiredAPIVersion: string; objects: JsonApiObject[] };
}

export interface TestWebhook {
  url: string;
  /** Base64 of its certificate. */
  caBundle: string;
  /** `127.0.0.1:<port>` */
  host: string;
  /** All reviews with objects, in the order of their arrival. */
  reviews: TestReview[];
  /** Undefined: the default. */
  answer: WebhookAnswer | undefined;
  /** Ends every connection, and takes no other until `resume`. */
  suspend(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** A conversion webhook over https with a certificate of its own. */
export async function startTestWebhook(): Promise<TestWebhook> {
  const pair = await newCertificate();
  const server = createServer(pair, (request, response) => void answer(request, response));
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const webhook: TestWebhook = {
    url: `https://127.0.0.1:${port}/convert`,
    caBundle: Buffer.from(pair.cert).toString('base64'),
    host: `127.0.0.1:${port}`,
    reviews: [],
    answer: undefined,
    suspend: close,
    resume: () => listen(port),
    stop: async () => {
      if (server.listening) await close();
    },
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const review = JSON.parse(Buffer.concat(chunks).toString()) as TestReview;
    if (review.request.objects.length > 0) webhook.reviews.push(review);
    if (webhook.answer === undefined) sendConverted(response, review);
    else webhook.answer(response, review);
  };
  return webhook;
}

/** The answer of a webhook that converts by `convert`. */
export function sendConverted(
  response: ServerResponse,
  { request: { uid, desiredAPIVersion, objects } }: TestReview,
  convert: (object: JsonApiObject, apiVersion: string) => JsonObject = convertServer,
): void {
  sendResponse(response, {
    uid,
    result: { status: 'Success' },
    convertedObjects: objects.map((object) => convert(object, desiredAPIVersion)),
  });
}

export function sendResponse(response: ServerResponse, answer: JsonObject): void {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response: answer }));
}

interface ServerSpec extends JsonObject {
  hostPort?: string;
  host?: string;
  port?: string;
}

/** `v1beta1` has `spec.hostPort`, `v1` has `spec.host` and `spec.port`. */
export function convertServer(object: JsonApiObject, apiVersion: string): JsonObject {
  const { hostPort, host, port = '', ...rest } = (object['spec'] ?? {}) as ServerSpec;
  const spec = apiVersion.endsWith('/v1beta1')
    ? { ...rest, ...(host === undefined ? {} : { hostPort: `${host}:${port}` }) }
    : { ...rest, ...split(hostPort) };
  return { ...(object as JsonObject), apiVersion, spec };
}

function split(hostPort: unknown): JsonObject {
  if (typeof hostPort !== 'string') return {};
  const [host = '', port = ''] = hostPort.split(':');
  return { host, port };
}

async function newCertificate(): Promise<{ cert: string; key: string }> {
  await import('reflect-metadata');
  const { cryptoProvider, SubjectAlternativeNameExtension, X509CertificateGenerator } = await import('@peculiar/x509');
  cryptoProvider.set(webcrypto);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: `01${randomBytes(8).toString('hex')}`,
    name: 'CN=webhook',
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 3_600_000),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: 'localhost' },
      ]),
    ],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {
    cert: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
  };
}
