import { isUtf8 } from 'node:buffer';
import { gunzipSync } from 'node:zlib';
import type { WireRequest } from '../../harness/wire/wire-request.ts';
import { violation, type Violation } from '../violation.ts';
import { headerOf, type Answer } from '../../harness/wire/answer.ts';

const prototypeKey = /"(?:__proto__|constructor|prototype)":/;
/** Schemas are documents about keys, and may contain any. */
const documents = /^\/(?:openapi|docs|apis\/apiextensions\.k8s\.io|api\/docs|api\/openapi\.json)\b/;

/**
 * A success is complete, well-formed and of its declared type, and no object in it has a key that reaches a prototype.
 */
export function judgeSuccess(request: WireRequest, answer: Answer): Violation | undefined {
  if (answer.status === 201 && headerOf(answer, 'location') === undefined && !isDryRun(request))
    return violation('headers', 'a 201 without Location');
  return judgeContent(request, answer);
}

/** The same for any service, without the Location check. */
export function judgeContent(request: WireRequest, answer: Answer): Violation | undefined {
  const { status, complete } = answer;
  if (status === 204 || status === 304 || request.method === 'HEAD') return undefined;
  const type = headerOf(answer, 'content-type')?.split(';', 1)[0];
  if (type === undefined) return violation('headers', 'no Content-Type');
  const body = headerOf(answer, 'content-encoding') === 'gzip' && complete ? gunzipSync(answer.body) : answer.body;
  if (!complete || type === 'text/event-stream') {
    if (request.stream !== true) return violation('success body', 'it does not end');
    // A truncated response may not be an event stream at all: metrics, a page.
    return type === 'text/event-stream' || type === 'application/json' ? judgeStream(body.toString(), type) : undefined;
  }
  if (!isUtf8(body)) return type.startsWith('image/') ? undefined : violation('success body', 'no UTF-8');
  const text = body.toString();
  const value = type === 'application/json' && request.stream !== true ? parsed(text) : undefined;
  if (type === 'application/json' && request.stream === true) return judgeStream(text, type);
  if (type === 'application/json' && value === undefined)
    return violation('success body', `no JSON: ${text.slice(0, 200)}`);
  if (!documents.test(request.target) && prototypeKey.test(text))
    return violation('success body', `a prototype key: ${prototypeKey.exec(text)![0]}`);
  return undefined;
}

/** A dry run creates nothing. */
function isDryRun({ target, raw }: WireRequest): boolean {
  return raw === undefined && /[?&]dryRun=All(?:&|$)/.test(target);
}

/** Complete lines must be events; an ERROR must be a Status. */
function judgeStream(text: string, type: string): Violation | undefined {
  const lines = text.split('\n').slice(0, -1);
  const events =
    type === 'text/event-stream'
      ? lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5))
      : lines.filter((line) => line !== '');
  for (const line of events) {
    const problem = judgeEvent(line);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** One event of a watch, as JSON. */
export function judgeEvent(line: string): Violation | undefined {
  const event = parsed(line) as { type?: unknown; object?: { kind?: unknown; metadata?: unknown } } | undefined;
  if (event === undefined || !['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'].includes(String(event.type)))
    return violation('success body', `no event: ${line.slice(0, 200)}`);
  if (event.type === 'ERROR' && event.object?.kind !== 'Status')
    return violation('success body', `no Status: ${line.slice(0, 200)}`);
  if (prototypeKey.test(line)) return violation('success body', `a prototype key in an event: ${line.slice(0, 200)}`);
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
