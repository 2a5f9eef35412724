import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { killPrograms, databaseUrlOf, startServe, type Program } from '../../../cmd/svc/start-test-program.ts';
import { createTestDatabase } from '../../../pkg/testenv/test-database.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';

/** What the processes of svc show: each metric with its labels. */
export class ScrapedMetrics {
  /** Label names, by registered metric. */
  readonly labels = new Map<string, Set<string>>();
  /** The last scrape. */
  page = '';

  /** The name under which a series is registered: those of a histogram have derived names. */
  registered(series: string): string {
    return this.labels.has(series) ? series : series.replace(/_(?:bucket|sum|count)$/, '');
  }

  has(series: string): boolean {
    return this.labels.has(this.registered(series));
  }

  add(page: string): void {
    this.page = page;
    for (const [, name] of page.matchAll(/^# TYPE (\S+) /gm))
      if (!this.labels.has(name!)) this.labels.set(name!, new Set());
    for (const [, series, labels] of page.matchAll(/^(\w+)\{(.*)\} /gm))
      for (const [, label] of labels!.matchAll(/(\w+)="/g)) this.labels.get(this.registered(series!))!.add(label!);
  }
}

/** Starts `svc serve` with this version, scrapes both of its services, and ends it. */
export async function scrapeServe(version: string): Promise<{ metrics: ScrapedMetrics; program: Program }> {
  const home = await createTestDatabase();
  const folder = await mkdtemp(join(defaultDataParent, 'svc-metrics-'));
  try {
    await chmod(folder, 0o711);
    const { url, accessUrl, token, program } = await startServe(folder, [`--svc.database.url=${databaseUrlOf(home)}`], {
      env: { BUILD_VERSION: version },
    });
    await program.line('leading');
    const metrics = new ScrapedMetrics();
    // The second scrape includes metrics of the first one, and of the API.
    for (const target of [
      `${url}/api/v1/namespaces`,
      `${url}/metrics`,
      `${accessUrl}/metrics`,
      `${accessUrl}/metrics`,
      `${url}/metrics`,
    ]) {
      const answer = await fetch(target, { headers: { authorization: `Bearer ${token}` } });
      const page = await answer.text();
      if (answer.status !== 200) throw new Error(`${target}: ${answer.status} ${page}`);
      if (target.endsWith('/metrics')) metrics.add(page);
    }
    return { metrics, program };
  } finally {
    await killPrograms();
    await home.drop();
    await rm(folder, { recursive: true, force: true });
  }
}
