import { get } from 'node:http';
import type { ApiServer } from '../../test/system/harness/process/api-server.ts';
import { HttpConnection } from './http-connection.ts';
import type { MeasuredProcesses } from '../../test/system/harness/process/process-usage.ts';
import { SampleRecorder, type Sample } from '../report/sample.ts';

/** A complete list of all objects. */
export interface WholeList {
  objects: number;
  bytes: number;
  /** Each request is a chunk. */
  chunks: Sample;
}

const objectStart = Buffer.from('{"apiVersion"');

/** With `limit` and `continue`, chunk by chunk. */
export async function readInChunks(
  api: ApiServer,
  path: string,
  { limit, processes }: { limit: number; processes: MeasuredProcesses },
): Promise<WholeList> {
  const connection = await HttpConnection.open(api.port);
  const recorder = new SampleRecorder(processes);
  recorder.open();
  let [objects, bytes, token] = [0, 0, ''];
  try {
    do {
      const sentAt = performance.now();
      const rest = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
      const { status, body } = await connection.request(
        `GET ${path}?limit=${limit}${rest} HTTP/1.1\r\nHost: 127.0.0.1\r\n${api.authorization}\r\n\r\n`,
      );
      if (status !== 200) throw new Error(`${status} ${body.toString('utf8', 0, 300)}`);
      recorder.add(performance.now() - sentAt);
      // The list itself starts like one of its objects.
      objects += count(body, objectStart) - 1;
      bytes += body.length;
      token = continueIn(body);
    } while (token !== '');
  } finally {
    connection.close();
  }
  return { objects, bytes, chunks: recorder.close() };
}

/** As one response, which is not kept in memory. */
export async function readAsStream(
  api: ApiServer,
  path: string,
  { processes }: { processes: MeasuredProcesses },
): Promise<WholeList> {
  const recorder = new SampleRecorder(processes);
  recorder.open();
  const sentAt = performance.now();
  const { bytes, end } = await drain(api, path);
  recorder.add(performance.now() - sentAt);
  return { objects: Number(/"total": ?(\d+)/.exec(end)?.[1] ?? 0), bytes, chunks: recorder.close() };
}

/** The length of a response, and its last bytes. */
function drain(api: ApiServer, path: string): Promise<{ bytes: number; end: string }> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: api.authorization.slice('Authorization: '.length) };
    const request = get({ port: api.port, host: '127.0.0.1', path, headers }, (response) => {
      let bytes = 0;
      let end = '';
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        end = (end + piece.toString('latin1', Math.max(0, piece.length - 500))).slice(-500);
      });
      response.on('end', () => resolve({ bytes, end }));
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}

function count(body: Buffer, part: Buffer): number {
  let found = 0;
  for (let at = body.indexOf(part); at !== -1; at = body.indexOf(part, at + part.length)) found += 1;
  return found;
}

function continueIn(body: Buffer): string {
  const metadata = body.toString('latin1', 0, body.indexOf('"items"'));
  return /"continue": ?"([^"]*)"/.exec(metadata)?.[1] ?? '';
}
