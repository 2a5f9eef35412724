import { Router, type Request } from 'express';
import { newPathMethodNotAllowed } from '#pkg/apimachinery/index';
import type { Handler } from '../request/request-context.ts';
import { contextOf } from './express-handler.ts';

/** A router that passes every path below its prefix to one handler, for GET and HEAD. */
export function getOnly(handle: Handler): Router {
  const router = Router({ strict: true });
  router.use(async (request: Request) => {
    const context = contextOf(request);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      context.response.setHeader('Allow', 'GET, HEAD');
      throw newPathMethodNotAllowed();
    }
    await handle(context);
  });
  return router;
}
