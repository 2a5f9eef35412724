/**
 * The baseline of the API server: sends the same bytes from a minimal server, without validation, permissions or
 * storage. Plain JavaScript, so that it runs without a loader. First argument: `express` or `http`; then, for https,
 * the files of a certificate and its key. The parent sends the responses, path by path.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import express from 'express';

/** @type {Map<string, string>} */
let answers = new Map();

function bareHttp() {
  return serve((request, response) => {
    const body = answers.get(request.url ?? '') ?? '';
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
    response.end(body);
  });
}

function bareExpress() {
  const app = express();
  // Both would only make it slower.
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/{*path}', (request, response) => {
    response.type('json').send(answers.get(request.url) ?? '');
  });
  app.post('/{*path}', express.json({ limit: '3mb' }), (request, response) => {
    response.status(201).json(request.body);
  });
  app.put('/{*path}', express.json({ limit: '3mb' }), (request, response) => {
    response.json(request.body);
  });
  return serve(app);
}

/** @param {import('node:http').RequestListener} listener */
function serve(listener) {
  return certFile === undefined
    ? createServer(listener)
    : createTlsServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, listener);
}

const [kind, certFile, keyFile] = process.argv.slice(2);
const server = kind === 'http' ? bareHttp() : bareExpress();
server.keepAliveTimeout = 75_000;
process.on('message', (/** @type {[string, string][]} */ entries) => {
  answers = new Map(entries);
  process.send?.({ ready: true });
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
