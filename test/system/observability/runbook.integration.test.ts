import { expect, test } from '@jest/globals';
import { alertsFile, clusterAlertsFile, readRules } from '../harness/alerts/alert-rules.ts';
import { dashboards } from '../../../hack/dashboards/dashboards.ts';
import { loggedMessagesIn, readLoggedMessages } from './logged-messages.ts';
import { problemsOf, type Facts } from './check-runbook.ts';
import { parseRunbook, readRunbook } from '../harness/alerts/runbook.ts';
import { scrapeServe } from './scraped-metrics.ts';

const runbook = await readRunbook();
const rules = [...(await readRules(alertsFile)), ...(await readRules(clusterAlertsFile))];
const alerts = [...new Set(rules.flatMap(({ alert }) => alert ?? []))];
const panels = new Set(
  Object.values(dashboards).flatMap(({ rows }) => rows.flatMap((row) => row.panels.map(({ title }) => title))),
);

test('each alert has its section in the runbook, in the order of the rules', () => {
  expect(runbook.alerts.map(({ heading }) => heading)).toEqual(alerts);
});

test('every alert, metric, panel and log message that the runbook names exists', async () => {
  const { metrics } = await scrapeServe('2.22.0');
  const facts: Facts = {
    alerts,
    hasMetric: (name) => metrics.has(name),
    panels,
    loggedMessages: await readLoggedMessages(),
  };
  expect(runbook.drills.length).toBeGreaterThan(0);
  expect(problemsOf(runbook, facts)).toEqual([]);
});

test('a name in the runbook that does not exist is told with its section', () => {
  const page = `## Alerts

### SvcSlow

Look at "No panel" and "By status". The metrics are \`svc_gone_total{a="b"}\`, \`svc_there\`,
\`container_cpu_seconds_total\`, \`mystery_bytes\` and \`max_connections\`. The log
says \`nobody logs this\`, or the log says \`could not read a.yaml\`; the lines are \`slow request\`. The log says why
(\`no such file\`).

### SvcExtra

Its log ends with \`history is gone\`.

## Drills
`;
  const source = `log[level]({ text: 'nobody logs this' }, isSlow ? 'slow request' : 'request');
    this.#log.warn({ err }, \`could not read \${file}\`); log.info({}, \`\${a}: \${b}\`);
    this.#fail('history is gone'); other.call('nobody logs this');`;
  const facts: Facts = {
    alerts: ['SvcSlow', 'SvcMissing'],
    hasMetric: (name) => name === 'svc_there',
    panels: new Set(['By status']),
    loggedMessages: loggedMessagesIn(source),
  };
  expect(problemsOf(parseRunbook(page), facts)).toEqual([
    'SvcExtra: the runbook has this section, and no rule has this name',
    'SvcMissing: a rule has this name, and the runbook has no section for it',
    'SvcSlow: no process shows the metric svc_gone_total',
    'SvcSlow: the section does not say that container_cpu_seconds_total is a metric of cAdvisor',
    'SvcSlow: nobody is known to show the metric mystery_bytes',
    'SvcSlow: no dashboard has the panel "No panel"',
    'SvcSlow: no source logs the message "nobody logs this"',
    'SvcSlow: write "the log says" before the message "slow request"',
    'SvcSlow: write "the log says" before the message "no such file"',
  ]);
});
