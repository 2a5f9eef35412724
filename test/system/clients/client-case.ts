import type { ClientsOptions } from './clients-options.ts';
import type { ClientSite } from './site/client-site.ts';

/** One client program, or several that work together, against a server of its own. */
export interface ClientCase {
  /** Why this machine cannot run it, and how to install what is missing; undefined if it can. */
  missing(options: ClientsOptions): Promise<string | undefined>;
  run(site: ClientSite, options: ClientsOptions): Promise<void>;
}
