import { RestClient, type ConnectOptions } from '#pkg/client/index';
import { OperatorError } from './operator-error.ts';
import type { Options } from './options/option-table.ts';

/** The content platform at the URL of an option, for a process that works with it; to be closed. Throws OperatorError for an option that is no URL. */
export function platformClient(options: Options, option: 'svc.controllers.api-url' | 'svc.access.api-url', rest: Omit<ConnectOptions, 'url'>): RestClient {
  const url = options[option];
  try {
    return RestClient.connect({ url, ...rest });
  } catch (error) {
    throw new OperatorError(`${option} is ${JSON.stringify(url)}, which is no URL of a server: http://host:port or https://host:port.`, { cause: error });
  }
}
