import { Router, type Request } from 'express';
import type { Level, LevelWithSilent, Logger } from 'pino';
import { newBadRequest, newPathMethodNotAllowed } from '#pkg/apimachinery/index';
import { send } from '../answer/respond.ts';
import { logUserOf } from '../filters/with-logging.ts';
import { readBody } from '../request/read-body.ts';
import type { RequestContext } from '../request/request-context.ts';
import { logNamesOf } from '../server/server-request-context.ts';
import type { EndpointGroup } from './endpoint-group.ts';
import { contextOf } from './express-handler.ts';

export const logLevelPath = '/debug/flags/log-level';

const maxBodyBytes = 64;

/**
 * The level of this process's log, as text: GET answers it, PUT changes it until the process ends. Other processes keep
 * theirs. Source: /debug/flags/v of Kubernetes' servers.
 */
export function logLevelEndpoint(log: Logger): EndpointGroup {
  const answer = (context: RequestContext): Promise<void> =>
    send(context, 200, 'text/plain; charset=utf-8', `${log.level}\n`);
  const levels = [...Object.keys(log.levels.values), 'silent'];
  const router = Router({ strict: true });
  router.get('/', (request: Request) => answer(contextOf(request)));
  router.put('/', async (request: Request) => {
    const context = contextOf(request);
    const text = (await readBody(context, { maxBytes: maxBodyBytes })).toString().trim();
    if (!levels.includes(text)) throw newBadRequest(`the body must be a log level: one of ${levels.join(', ')}`);
    setLogLevel(log, text as LevelWithSilent, {
      ...logNamesOf(context),
      ...logUserOf(context),
      clientAddress: context.clientAddress,
    });
    await answer(context);
  });
  router.all('/', (request: Request) => {
    request.res!.setHeader('Allow', 'GET, HEAD, PUT');
    throw newPathMethodNotAllowed();
  });
  return { prefix: logLevelPath, router };
}

/** Changes the level, and logs that with `details`, whatever the levels before and after it hide. */
export function setLogLevel(log: Logger, to: LevelWithSilent, details: object): void {
  const from = log.level;
  const visible: Level = 'warn';
  if (!log.isLevelEnabled(visible)) log.level = visible;
  log[visible]({ ...details, from, to }, 'changed the log level');
  log.level = to;
}
