import type { Answer } from './http-connection.ts';
import { pathOf, postText, type SampleModel } from '../sample-post.ts';

/** What a loader sends; plain data, because it is sent to the loader's process. */
export type RequestPlan =
  | { type: 'get'; paths: string[] }
  /** Sends these bodies in turn. */
  | { type: 'post'; path: string; bodies: string[] }
  /** `names` is the prefix of every name; numbered from 0 or `first`. `keyed`: each has its own Idempotency-Key. */
  | { type: 'create'; model: SampleModel; names: string; first?: number; keyed?: true }
  /**
   * One object for each connection, updated by its last reader: each update names the resourceVersion of the previous
   * response. `applied`: as an apply patch, which takes every field.
   */
  | { type: 'update'; model: SampleModel; objects: string[]; attachment?: number; applied?: true };

/** The requests of one plan, in sequence for each connection. */
export interface RequestSource {
  readonly expectedStatus: number;
  /** Sent once before the measurement. */
  prepare?(connection: number): string;
  next(connection: number): string;
  /** Gets every successful response, including that of `prepare`. */
  answered?(connection: number, answer: Answer): void;
}

/** Formats a plan as HTTP/1.1; `authorization` is a complete header line, or empty. */
export function requestSource(plan: RequestPlan, authorization: string): RequestSource {
  const common = `Host: 127.0.0.1\r\n${authorization === '' ? '' : `${authorization}\r\n`}`;
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\n${common}\r\n`;
  const withBody = (method: string, path: string, body: string, headers = '', type = 'application/json'): string =>
    `${method} ${path} HTTP/1.1\r\n${common}${headers}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  if (plan.type === 'get') return inTurns(200, plan.paths.map(get));
  if (plan.type === 'post')
    return inTurns(
      201,
      plan.bodies.map((body) => withBody('POST', plan.path, body)),
    );
  if (plan.type === 'create')
    return createSource(plan, (body, headers) => withBody('POST', pathOf(plan.model), body, headers));
  return updateSource(plan, get, withBody);
}

function inTurns(expectedStatus: number, requests: string[]): RequestSource {
  let sent = 0;
  return { expectedStatus, next: () => requests[(sent += 1) % requests.length]! };
}

function createSource(
  { model, names, first = 0, keyed }: RequestPlan & { type: 'create' },
  post: (body: string, headers: string) => string,
): RequestSource {
  let number = first - 1;
  const next = (): string => {
    number += 1;
    const name = `${names}-${number}`;
    return post(
      postText(model, { name, number, title: 'A morning' }),
      keyed === true ? `Idempotency-Key: ${name}\r\n` : '',
    );
  };
  return { expectedStatus: 201, next };
}

function updateSource(
  { model, objects, attachment = 0, applied }: RequestPlan & { type: 'update' },
  get: (path: string) => string,
  withBody: (method: string, path: string, body: string, headers?: string, type?: string) => string,
): RequestSource {
  const revisions = new Map<number, string>();
  const pathTo = (connection: number): string => `${pathOf(model)}/${objects[connection]}`;
  let title = 0;
  return {
    expectedStatus: 200,
    prepare: (connection) => get(pathTo(connection)),
    next: (connection) => {
      const resourceVersion = revisions.get(connection) ?? '0';
      title += 1;
      const body = postText(model, {
        name: objects[connection]!,
        number: connection,
        title: `Morning ${title}`,
        resourceVersion,
        attachment,
      });
      return applied === true
        ? withBody(
            'PATCH',
            `${pathTo(connection)}?fieldManager=bench&force=true`,
            body,
            '',
            'application/apply-patch+yaml',
          )
        : withBody('PUT', pathTo(connection), body);
    },
    answered: (connection, { body }) => void revisions.set(connection, resourceVersionIn(body)),
  };
}

const revisionStart = '"resourceVersion":"';

/** The first resourceVersion in a text, without parsing; '' if there is none. */
export function resourceVersionIn(body: Buffer): string {
  const at = body.indexOf(revisionStart);
  if (at === -1) return '';
  const start = at + revisionStart.length;
  return body.toString('latin1', start, body.indexOf(0x22, start));
}
