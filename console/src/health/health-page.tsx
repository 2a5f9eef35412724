import { ActionButton } from '../interface/action-button.tsx';
import { Age } from '../interface/age.tsx';
import { DataTable } from '../interface/data-table.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { usePathPermission } from '../server/permissions.ts';
import { formatTime, texts } from '../texts/texts.ts';
import { controllerFacts, healthSections, type HealthSection } from './health-facts.ts';
import { sumOf, type Metrics } from './parse-metrics.ts';
import { useHealth, type HealthState } from './use-health.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './health.css';

/** Whether the server works, and what it measures. */
export default function HealthPage() {
  useTitle(texts.health.title);
  const mayMeasure = usePathPermission('/metrics');
  const { state, ask } = useHealth({ mayMeasure });
  return (
    <>
      <div className="page-head">
        <h1>{texts.health.title}</h1>
        {state === undefined ? undefined : <Verdict {...state} />}
        <ActionButton onAction={ask}>{texts.health.ask}</ActionButton>
      </div>
      <p>{texts.health.intro}</p>
      {state === undefined ? (
        <p role="status">{texts.loading}</p>
      ) : (
        <>
          <Summary {...state} />
          <Checks {...state} />
          <Measurements mayMeasure={mayMeasure} {...state} />
        </>
      )}
    </>
  );
}

function Verdict({ isLive, isReady }: HealthState) {
  return (
    <p role="status" className="facts">
      <span className={isLive ? 'health good' : 'health bad'}>
        {isLive ? texts.health.isLive : texts.health.notLive}
      </span>{' '}
      <span className={isReady ? 'health good' : 'health bad'}>
        {isReady ? texts.health.isReady : texts.health.notReady}
      </span>
    </p>
  );
}

function Summary({ version, at, readings }: HealthState) {
  const started = readings === undefined ? undefined : sumOf(readings.now.metrics, 'process_start_time_seconds');
  return (
    <dl className="facts-list">
      <div>
        <dt>{texts.health.version}</dt>
        <dd>
          <code>{version}</code>
        </dd>
      </div>
      {started === undefined ? undefined : (
        <div>
          <dt>{texts.health.started}</dt>
          <dd>
            <Age timestamp={new Date(started * 1000).toISOString()} />
          </dd>
        </div>
      )}
      <div>
        <dt>{texts.health.read}</dt>
        <dd>{formatTime(at)}</dd>
      </div>
    </dl>
  );
}

function Checks({ checks }: HealthState) {
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">{texts.health.checks}</h2>
      <p>{texts.health.checksIntro}</p>
      <ul className="checks">
        {checks.map(({ result, text }) => (
          <li key={text}>
            <span className={`health ${result === 'passed' ? 'good' : result === 'failed' ? 'bad' : 'warning'}`}>
              {texts.health[result]}
            </span>
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Measurements({ mayMeasure, readings, failure }: HealthState & { mayMeasure: boolean }) {
  return (
    <section aria-labelledby="measured">
      <h2 id="measured">{texts.health.measured}</h2>
      {mayMeasure ? undefined : <p className="note">{texts.navigation.noRight('get /metrics')}</p>}
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {readings === undefined ? undefined : (
        <>
          {healthSections(readings.now, readings.before).map((each) => (
            <Section key={each.title} {...each} />
          ))}
          <Controllers metrics={readings.now.metrics} />
        </>
      )}
    </section>
  );
}

function Section({ title, facts }: HealthSection) {
  return (
    <>
      <h3>{title}</h3>
      <dl className="measurements">
        {facts.map(({ name, value, meaning, isWarning }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className={isWarning ? 'measurement warning' : 'measurement'}>{value}</dd>
            <dd className="facts">{meaning}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Controllers({ metrics }: { metrics: Metrics }) {
  const all = controllerFacts(metrics);
  if (all.length === 0) return undefined;
  const { controller, waiting, done, failures } = texts.health;
  return (
    <DataTable
      label={texts.health.sections.controllers}
      columns={[controller, waiting, done, failures]}
      numeric={[1, 2, 3]}
      keyOf={(at) => all[at]!.name}
      rows={all.map((each) => [
        each.name,
        texts.number(each.waiting),
        texts.number(each.done),
        texts.number(each.failed),
      ])}
    />
  );
}
