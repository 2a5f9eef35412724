import { readFile } from 'node:fs/promises';

export interface Section {
  readonly heading: string;
  /** As one line, so that a sentence is not broken. */
  readonly text: string;
}

export interface Runbook {
  /** The metrics in the tables, with what the page says of each. */
  readonly metrics: ReadonlyMap<string, string>;
  /** One for each alert, in order. */
  readonly alerts: readonly Section[];
  /** The exercises. */
  readonly drills: readonly Section[];
}

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
const codeSpan = /`([^`]+)`/g;
/** The one form in which the page quotes a message; `...` stands for what varies. */
const quotedMessage = /\blogs? (?:says?|ends with) `([^`]+)`/g;

export async function readRunbook(): Promise<Runbook> {
  return parseRunbook(await readFile(new URL('../../../docs/runbook.md', import.meta.url), 'utf8'));
}

export function parseRunbook(page: string): Runbook {
  const rows = page.matchAll(
    /^\| (`(?:http|db|svc|controller_runtime|workqueue|leader|process|nodejs)_[^|]*)\|(.*)$/gm,
  );
  const metrics = [...rows].flatMap(([, names, about]) =>
    [...names!.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => [name!, about!] as const),
  );
  const chapters = new Map(page.split(/^## /m).map((chapter) => [chapter.split('\n', 1)[0]!, chapter]));
  return {
    metrics: new Map(metrics),
    alerts: sectionsOf(chapters.get('Alerts')),
    drills: sectionsOf(chapters.get('Drills')),
  };
}

function sectionsOf(chapter = ''): Section[] {
  const [, ...sections] = chapter.split(/^### /m);
  return sections.map((section) => {
    const [heading, ...lines] = section.split('\n');
    return { heading: heading!, text: lines.join(' ').replaceAll(/\s+/g, ' ').trim() };
  });
}

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

function problemsOfMetrics({ heading, text }: Section, { hasMetric }: Facts): string[] {
  const names = [...text.matchAll(codeSpan)].map(([, span]) => span!.replace(/\{.*/, ''));
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
function problemsOfPanels({ heading, text }: Section, { panels }: Facts): string[] {
  return [...text.replaceAll(codeSpan, '').matchAll(/"([A-Z][^"]*)"/g)]
    .filter(([, title]) => !panels.has(title!))
    .map(([, title]) => `${heading}: no dashboard has the panel "${title}"`);
}

function problemsOfMessages({ heading, text }: Section, { loggedMessages }: Facts): string[] {
  const isLogged = (message: string): boolean => loggedMessages.some((pattern) => pattern.test(message));
  const quoted = [...text.matchAll(quotedMessage)].map(([, message]) => message!);
  const others = [...text.replaceAll(quotedMessage, '').matchAll(codeSpan)].map(([, span]) => span!);
  const bracketed = [...text.matchAll(/\blogs?\b[^.`]*\(`([^`]* [^`]*)`\)/g)].map(([, message]) => message!);
  return [
    ...quoted
      .filter((message) => !isLogged(message))
      .map((message) => `${heading}: no source logs the message "${message}"`),
    // A message in another form would not be checked.
    ...[...others.filter((span) => span.includes(' ') && isLogged(span)), ...bracketed].map(
      (message) => `${heading}: write "the log says" before the message "${message}"`,
    ),
  ];
}
