import { codeSpansOf, quotedMessagesOf, type Section } from '../harness/alerts/runbook.ts';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { nameOf, openServe, type Incident } from './incident.ts';
import { IncidentSite } from './site/incident-site.ts';
import type { FiringAlert } from './site/prometheus-process.ts';

const pollIntervalMs = 200;
/** No incident takes that long on a machine that is not stuck. */
const limitMs = 200_000;

export interface IncidentResult {
  readonly name: string;
  /** From the cause to the alert. Seconds. */
  readonly firedAfter?: number;
  /** From the last step to the end of the alert. Seconds. */
  readonly endedAfter?: number;
  readonly skipped?: string;
  readonly failures: readonly string[];
  /** Alerts that fired with it. */
  readonly others: readonly string[];
}

export interface RunIncidentOptions {
  /** The parent of its folder. */
  readonly parent: string;
  /** Of the runbook. */
  readonly section: Section;
  readonly isKept: boolean;
}

/** Provokes an incident, looks where the runbook leads, takes its steps, and waits for the end of the alert. */
export async function runIncident(
  incident: Incident,
  { parent, section, isKept }: RunIncidentOptions,
): Promise<IncidentResult> {
  const { open = openServe, speed = 30, settings = {}, smallDisk } = incident;
  const name = nameOf(incident);
  const site = await IncidentSite.start({
    parent,
    speed,
    settings,
    ...(smallDisk === undefined ? {} : { smallDisk }),
  });
  const trial = new IncidentTrial(incident, site);
  let isWhole = false;
  try {
    if (smallDisk !== undefined && site.disk === undefined)
      return { name, failures: [], others: [], skipped: 'this machine permits no mount; it needs root' };
    await open(site);
    await site.scrape();
    await trial.untilQuiet();
    let began = performance.now();
    const takeSteps = await incident.provoke(site);
    await trial.untilFiring();
    const firedAfter = (performance.now() - began) / 1000;
    await incident.look?.(site);
    await lookUp(incident, site, section);
    await takeSteps();
    began = performance.now();
    await trial.untilEnded();
    const endedAfter = (performance.now() - began) / 1000;
    const failures = trial.unexpected().map((other) => `${name}: ${other} fired too`);
    isWhole = failures.length === 0;
    return { name, firedAfter, endedAfter, failures, others: trial.others() };
  } catch (error) {
    const fired = trial.others();
    throw fired.length === 0 ? error : new Error(`these fired instead: ${fired.join(', ')}`, { cause: error });
  } finally {
    await site.remove({ keep: isKept || !isWhole });
  }
}

/** The messages that the section quotes, and its queries. */
async function lookUp({ logs = [], isDatabaseAway }: Incident, site: IncidentSite, section: Section): Promise<void> {
  const quoted = quotedMessagesOf(section);
  for (const message of logs) {
    if (!quoted.includes(message)) throw new Error(`the section ${section.heading} does not quote "${message}"`);
    await site.untilLogged(message);
  }
  if (isDatabaseAway) return;
  for (const query of codeSpansOf(section).filter((span) => /^(?:SELECT (?!pg_reload_conf)|SHOW )/.test(span)))
    await site.sql(query);
}

/** Notes which alerts fire from its creation on. */
class IncidentTrial {
  readonly #incident: Incident;
  readonly #site: IncidentSite;
  readonly #fired = new Set<string>();

  constructor(incident: Incident, site: IncidentSite) {
    this.#incident = incident;
    this.#site = site;
  }

  /** All others that fired. */
  others(): string[] {
    return [...this.#fired];
  }

  /** Those that the incident does not name. */
  unexpected(): string[] {
    const { brings = [] } = this.#incident;
    return this.others().filter((name) => !brings.some((known) => name === known || name.startsWith(`${known}:`)));
  }

  async untilFiring(): Promise<void> {
    await this.#until((firing) => firing.some((each) => this.#isExpected(each)), 'fires');
  }

  async untilEnded(): Promise<void> {
    await this.#until((firing) => !firing.some((each) => this.#isExpected(each)), 'ends');
  }

  /** No alert fires, and the rules have data of every process: one that never was up is another incident. */
  async untilQuiet(): Promise<void> {
    await this.#until(async (firing) => firing.length === 0 && (await this.#isScraped()), 'is quiet before');
    this.#fired.clear();
  }

  async #isScraped(): Promise<boolean> {
    const { members, prometheus } = this.#site;
    return (await prometheus.value('count(up == 1)')) === members.flatMap(({ targets }) => targets).length;
  }

  async #until(holds: (firing: FiringAlert[]) => boolean | Promise<boolean>, what: string): Promise<void> {
    let firing: FiringAlert[] = [];
    await retryUntilTrue(
      async () => {
        if (this.#site.failure !== undefined) return true;
        firing = await this.#site.prometheus.firing();
        for (const each of firing) if (!this.#isExpected(each)) this.#fired.add(nameOf(each));
        return holds(firing);
      },
      { what: `${nameOf(this.#incident)} ${what}`, timeoutMs: limitMs, intervalMs: pollIntervalMs },
    );
    if (this.#site.failure !== undefined)
      throw new Error(`the cause of ${nameOf(this.#incident)} failed`, { cause: this.#site.failure });
  }

  #isExpected({ alert, cause, severity }: FiringAlert): boolean {
    const { severity: expected = severity } = this.#incident;
    return alert === this.#incident.alert && cause === this.#incident.cause && severity === expected;
  }
}
