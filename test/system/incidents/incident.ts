import type { IncidentSite, SiteOptions } from './site/incident-site.ts';

/** The steps of the runbook that end an incident. */
export type Steps = () => Promise<unknown> | void;

/** One cause that the runbook names, made real. */
export interface Incident extends Pick<SiteOptions, 'settings' | 'smallDisk'> {
  readonly alert: string;
  /** As the alert's label has it. */
  readonly cause?: string;
  /** Of the alert, where severities have rules of their own. */
  readonly severity?: string;
  /** Tells it from another incident of the same alert. */
  readonly variant?: string;
  /** What happens, and how it ends, in one sentence. */
  readonly intent: string;
  /**
   * How much faster time passes for Prometheus, default 30: 5 minutes take 10 s, and it scrapes each second. Without
   * the database a scrape takes 2 s; 12 leaves it 2.5 s.
   */
  readonly speed?: number;
  /** Other alerts that its cause brings, as the runbook says or as follows from the rules. */
  readonly brings?: readonly string[];
  /** The messages that the runbook's section quotes and this incident must show. */
  readonly logs?: readonly string[];
  /** PostgreSQL cannot be asked meanwhile; otherwise the section's queries are run. */
  readonly isDatabaseAway?: true;
  /** Starts the processes; by default one `svc serve` with clients. */
  readonly open?: (site: IncidentSite) => Promise<unknown>;
  /** Makes the cause real. */
  provoke(site: IncidentSite): Promise<Steps>;
  /** Looks where the runbook sends somebody, and throws if the cause does not show there. */
  look?(site: IncidentSite): Promise<unknown>;
}

/** The name for `--only`. */
export function nameOf({
  alert,
  cause,
  severity,
  variant,
}: Pick<Incident, 'alert' | 'cause' | 'severity' | 'variant'>): string {
  return [alert, cause ?? severity, variant].filter((part) => part !== undefined).join(':');
}

export async function openServe(site: IncidentSite, args: readonly string[] = []): Promise<void> {
  const server = await site.add('serve', { args });
  await server.start();
  await site.addTraffic();
}
