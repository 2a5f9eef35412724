import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express } from 'express';
import { newInternalError, newRequestEntityTooLarge, newUnknownPath, StatusError } from '#pkg/apimachinery/index';
import { endpointGroupOf, type EndpointGroup } from './endpoint-group.ts';
import { sendContinue } from '../request/read-body.ts';
import type { Handler, RequestContext } from '../request/request-context.ts';
import { isAnswered } from '../answer/respond.ts';

const contexts = new WeakMap<IncomingMessage, RequestContext>();

/**
 * The context of a request, for a handler that express calls; throws for a request that did not come through
 * HttpServer.
 */
export function contextOf(request: IncomingMessage): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error('the request did not come through an HttpServer');
  return context;
}

const refuseUnknown: Handler = () => Promise.reject(newUnknownPath());

/**
 * Serves the paths of endpoint groups by express. The group that owns a path serves it and nobody else does: the path
 * may be open because of it. `otherwise` serves any other path; default: 404. `groups` is read anew for each request,
 * so a live Set of them may grow and shrink. What a router passes on (`next(error)`, a rejected handler) is thrown, for
 * `withStatus`.
 */
export function expressHandler(groups: Iterable<EndpointGroup>, otherwise: Handler = refuseUnknown): Handler {
  const apps = new WeakMap<EndpointGroup, Express>();
  return async (context) => {
    const group = endpointGroupOf(groups, context.info);
    if (group === undefined) return otherwise(context);
    context.route = group.prefix;
    let app = apps.get(group);
    if (app === undefined) {
      app = newApp(group);
      apps.set(group, app);
    }
    await run(app, context);
  };
}

function newApp({ prefix, router }: EndpointGroup): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  app.use(prefix, router);
  return app;
}

/** Settles when the answer has ended, the client is gone, or the router has called `next`. */
function run(app: Express, context: RequestContext): Promise<void> {
  const { request, response } = context;
  // Otherwise the code below would wait for an event that has already been emitted.
  if (isAnswered(response)) return Promise.resolve();
  contexts.set(request, context);
  request.url = canonicalUrl(request.url ?? '', context.info.path);
  sendContinue(context);
  return new Promise((resolve, reject) => {
    response.once('close', resolve);
    onEnd(response, resolve);
    // Express's types require its own classes; express turns these objects into them by setting their prototypes.
    app(request as express.Request, response as express.Response, (error?: unknown) => {
      response.off('close', resolve);
      reject(error === undefined || error === 'router' || error === 'route' ? newUnknownPath() : toError(error));
    });
  });
}

/**
 * Calls `ended` when the whole answer is written: every way to write it calls `end`. `finish` and `close` would wait
 * until the client has read it.
 */
function onEnd(response: ServerResponse, ended: () => void): void {
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.end = (...args: unknown[]) => {
    end(...args);
    ended();
    return response;
  };
}

/** Express matches the undecoded path, but authorization checked the decoded one. Both must mean the same. */
function canonicalUrl(url: string, path: string): string {
  const questionMark = url.indexOf('?');
  const raw = questionMark === -1 ? url : url.slice(0, questionMark);
  if (!raw.includes('%')) return url;
  return path.split('/').map(encodeSegment).join('/') + url.slice(raw.length);
}

/** Does not encode characters that a path may contain (RFC 3986, pchar), because routes are written with them. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);
}

/** Express's own middlewares throw errors with a `status`; the message may be shown if `expose` is true. */
function toError(error: unknown): Error {
  if (!(error instanceof Error)) return newInternalError(error);
  const { status, expose } = error as Error & { status?: unknown; expose?: unknown };
  if (error instanceof StatusError || typeof status !== 'number' || status < 400 || status > 499) return error;
  const message = expose === true ? error.message : 'the request was refused';
  if (status === 413) return newRequestEntityTooLarge(message);
  return new StatusError(status, status === 415 ? 'UnsupportedMediaType' : 'BadRequest', message, { cause: error });
}
