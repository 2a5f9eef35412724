import { beforeAll, describe, expect, test } from '@jest/globals';
import { readRules } from '../harness/alerts/alert-rules.ts';
import { dashboards } from '../../../hack/dashboards/dashboards.ts';
import { namesIn } from './promql.ts';
import { readRunbook } from '../harness/alerts/runbook.ts';
import { scrapeServe, type ScrapedMetrics } from './scraped-metrics.ts';

/** Series and labels that Prometheus adds. */
const ofPrometheus = new Set(['up', 'ALERTS']);
/** `worker`: of each series of a server that has several. */
const ofTargets = new Set(['namespace', 'job', 'instance', 'worker', 'le', 'alertname', 'alertstate']);

const version = '2.22.0+1ebebde0a1b2';
const { metrics: documented } = await readRunbook();
let shown: ScrapedMetrics;

beforeAll(async () => {
  const { metrics, program } = await scrapeServe(version);
  expect((await program.line('ready'))['version']).toBe(version);
  shown = metrics;
});

test('the runbook has every metric, and no other', () => {
  expect([...documented.keys()].toSorted()).toEqual([...shown.labels.keys()].toSorted());
});

test('it shows the build, with its commit', () => {
  expect(shown.page.split('\n')).toContain(`svc_build_info{version="${version}",component="apiserver"} 1`);
});

test.each([
  /^leader_election_master_status\{name="svc-controllers\.namespaces"\} 1$/m,
  /^svc_memory_limit_bytes \d{8,}$/m,
  /^svc_heap_limit_bytes \d{8,}$/m,
  /^svc_change_log_limit_bytes 1073741824$/m,
])('it shows %s', (line) => {
  expect(shown.page).toMatch(line);
});

describe('metrics of alerts and dashboards exist', () => {
  test('metrics and labels', async () => {
    const rules = await readRules();
    const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
    const panels = Object.values(dashboards).flatMap(({ rows }) =>
      rows.flatMap(({ panels: plans }) => plans.flatMap(({ lines }) => Object.values(lines))),
    );
    for (const expression of [...rules.map(({ expr }) => expr), ...panels]) {
      const { metrics, labels } = namesIn(expression);
      const own = metrics
        .filter((name) => !ofPrometheus.has(name) && !recorded.has(name))
        .map((name) => shown.registered(name));
      expect({ expression, unknown: own.filter((name) => !shown.labels.has(name)) }).toEqual({
        expression,
        unknown: [],
      });
      // A metric without any count has its labels only in the runbook.
      const isKnown = (label: string): boolean =>
        ofTargets.has(label) ||
        own.some((name) => shown.labels.get(name)!.has(label) || documented.get(name)!.includes(`\`${label}\``));
      expect({
        expression,
        unknown: metrics.some((name) => recorded.has(name)) ? [] : labels.filter((label) => !isKnown(label)),
      }).toEqual({ expression, unknown: [] });
    }
  });
});
