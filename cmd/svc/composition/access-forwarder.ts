import type { Logger } from 'pino';
import { ServiceForwarder } from '#pkg/http/index';
import type { Options } from '../options/option-table.ts';
import type { Teardown } from '../process/teardown.ts';
import { authorityOf } from './platform-server.ts';

/**
 * Forwards the paths of access management to where `svc.server.access-url` says that it runs; undefined if it says
 * nothing. Throws OperatorError for an authority that cannot be used.
 */
export function accessForwarder(
  options: Options,
  { log, teardown }: { log: Logger; teardown: Teardown },
): ServiceForwarder | undefined {
  const url = options['svc.server.access-url'];
  if (url === undefined) return undefined;
  const option = 'svc.server.access-ca-file';
  const file = options[option];
  const forwarder = new ServiceForwarder({
    url,
    ...(file === undefined ? {} : { ca: authorityOf(file, { option, log }) }),
  });
  teardown.add('connections to access management', async () => forwarder.close());
  return forwarder;
}
