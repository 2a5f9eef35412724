import {
  codeSpansOf,
  quotedMessagesOf,
  withoutCode,
  withoutQuotedMessages,
  type Runbook,
  type Section,
} from '../harness/alerts/runbook.ts';

/** What the runbook must be held to. */
export interface Facts {
  readonly alerts: readonly string[];
  readonly hasMetric: (name: string) => boolean;
  readonly panels: ReadonlySet<string>;
  readonly loggedMessages: readonly RegExp[];
}

/** Names of metrics by which one knows who shows them, and the program that a section must name with them. */
const othersMetrics: readonly [prefix: RegExp, program: string][] = [
  [/^(?:cnpg|barman_cloud)_/, 'CloudNativePG'],
  [/^container_/, 'cAdvisor'],
  [/^kube_/, 'kube-state-metrics'],
];
const ownMetric = /^(?:http|db|svc|controller_runtime|workqueue|leader_election|process|nodejs)_[a-z0-9_]+$/;
/** The ends of names of metrics, of whatever program. */
const metricEnd = /^[a-z][a-z0-9]*_[a-z0-9_]*(?:total|seconds|bytes|count|info|timestamp|time)$/;

/** One sentence for each name in the runbook that does not exist, with its section. */
export function problemsOf({ alerts, drills }: Runbook, facts: Facts): string[] {
  const headings = alerts.map(({ heading }) => heading);
  return [
    ...headings
      .filter((heading) => !facts.alerts.includes(heading))
      .map((heading) => `${heading}: the runbook has this section, and no rule has this name`),
    ...facts.alerts
      .filter((name) => !headings.includes(name))
      .map((name) => `${name}: a rule has this name, and the runbook has no section for it`),
    ...alerts.flatMap((section) => [...problemsOfMetrics(section, facts), ...problemsOfPanels(section, facts)]),
    ...[...alerts, ...drills].flatMap((section) => problemsOfMessages(section, facts)),
  ];
}

function problemsOfMetrics(section: Section, { hasMetric }: Facts): string[] {
  const { heading, text } = section;
  const names = codeSpansOf(section).map((span) => span.replace(/\{.*/, ''));
  return names.flatMap((name) => {
    if (ownMetric.test(name)) return hasMetric(name) ? [] : [`${heading}: no process shows the metric ${name}`];
    if (!metricEnd.test(name)) return [];
    const program = othersMetrics.find(([prefix]) => prefix.test(name))?.[1];
    if (program === undefined) return [`${heading}: nobody is known to show the metric ${name}`];
    return text.includes(program)
      ? []
      : [`${heading}: the section does not say that ${name} is a metric of ${program}`];
  });
}

/** A quoted name outside of code is the title of a panel. */
function problemsOfPanels(section: Section, { panels }: Facts): string[] {
  return [...withoutCode(section).matchAll(/"([A-Z][^"]*)"/g)]
    .filter(([, title]) => !panels.has(title!))
    .map(([, title]) => `${section.heading}: no dashboard has the panel "${title}"`);
}

function problemsOfMessages(section: Section, { loggedMessages }: Facts): string[] {
  const { heading, text } = section;
  const isLogged = (message: string): boolean => loggedMessages.some((pattern) => pattern.test(message));
  const others = codeSpansOf(withoutQuotedMessages(section));
  const bracketed = [...text.matchAll(/\blogs?\b[^.`]*\(`([^`]* [^`]*)`\)/g)].map(([, message]) => message!);
  return [
    ...quotedMessagesOf(section)
      .filter((message) => !isLogged(message))
      .map((message) => `${heading}: no source logs the message "${message}"`),
    // A message in another form would not be checked.
    ...[...others.filter((span) => span.includes(' ') && isLogged(span)), ...bracketed].map(
      (message) => `${heading}: write "the log says" before the message "${message}"`,
    ),
  ];
}
