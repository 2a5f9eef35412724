import type { ReactNode } from 'react';
import { FailureNote } from '../interface/failure-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { formatDate, texts } from '../texts/texts.ts';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { shownPage } from './access-api.ts';
import { missingForReader, useAccessRights } from './access-rights.ts';
import { FilterForm, type FilterField } from './filter-form.tsx';
import type { FormChoice } from './record-form.tsx';
import { MissingNote, OrgChooser, useChosenOrg } from './org-chooser.tsx';
import { Paging, RecordTable, type RecordColumn } from './record-table.tsx';
import { useRecords } from './use-records.ts';
import { useViewParams } from './view-params.ts';

const words = texts.access.logs;

interface LogEntry {
  id: string;
  username: string;
  remote_addr: string;
  datetime: string;
}

interface LoginEntry extends LogEntry {
  type: 'api' | 'web' | 'basic';
  user_agent: string;
  is_success: boolean;
  reason: string;
}

interface ChangeEntry extends LogEntry {
  action: string;
  resource_type: string;
  resource: string;
  detail: string;
  credential_id: string;
}

const anyOf = (labels: Readonly<Record<string, string>>): FormChoice[] => [
  { value: '', label: words.any },
  ...Object.entries(labels).map(([value, label]) => ({ value, label })),
];
const time: RecordColumn<LogEntry> = {
  title: words.time,
  order: 'datetime',
  cell: ({ datetime }) => formatDate(datetime),
};
const who: RecordColumn<LogEntry> = { title: words.who, order: 'username', cell: ({ username }) => username };
const address: RecordColumn<LogEntry> = { title: words.address, cell: ({ remote_addr: from }) => from };
const times: readonly FilterField[] = [
  { name: 'date_from', label: words.from, kind: 'time' },
  { name: 'date_to', label: words.to, kind: 'time' },
];

const changeFilters: readonly FilterField[] = [
  { name: 'username', label: words.who, kind: 'search' },
  { name: 'action', label: words.action, kind: anyOf(words.actions) },
  { name: 'resource_type', label: words.type, kind: anyOf(words.types) },
  { name: 'resource', label: words.resource, kind: 'search' },
  { name: 'remote_addr', label: words.address, kind: 'search' },
  ...times,
];

const changeColumns: readonly RecordColumn<ChangeEntry>[] = [
  time,
  who,
  { title: words.action, cell: ({ action }) => words.actions[action] ?? action },
  { title: words.type, cell: ({ resource_type: type }) => words.types[type] ?? type },
  { title: words.resource, cell: ({ resource }) => resource },
  { title: words.detail, cell: ({ detail }) => detail },
  address,
  { title: words.credential, cell: ({ credential_id: id }) => <code>{id}</code> },
];

/** The audit: what was changed, by whom, with which credential. */
export function ChangesPage() {
  useTitle(words.changes);
  return (
    <>
      <div className="page-head">
        <h1>{words.changes}</h1>
      </div>
      <p>{words.changesIntro}</p>
      <Log path="/api/v1/audits/operate-logs/" label={words.changes} fields={changeFilters} columns={changeColumns} />
    </>
  );
}

const loginFilters: readonly FilterField[] = [
  { name: 'username', label: words.who, kind: 'search' },
  { name: 'is_success', label: words.outcome, kind: anyOf({ true: words.success, false: words.refused }) },
  { name: 'reason', label: words.reason, kind: anyOf(words.reasons) },
  { name: 'type', label: words.way, kind: anyOf(words.ways) },
  { name: 'remote_addr', label: words.address, kind: 'search' },
  ...times,
];

const loginColumns: readonly RecordColumn<LoginEntry>[] = [
  time,
  who,
  {
    title: words.outcome,
    cell: ({ is_success: isSuccess, reason }) => (
      <span className={`state ${isSuccess ? 'good' : 'bad'}`}>
        {isSuccess ? words.success : (words.reasons[reason] ?? reason)}
      </span>
    ),
  },
  { title: words.way, cell: ({ type }) => words.ways[type] },
  address,
  { title: words.browser, cell: ({ user_agent: browser }) => browser },
];

/** Logins and refused ones; for those who may not read the audit, their own. */
export function LoginsPage() {
  useTitle(words.logins);
  const rights = useAccessRights();
  const view = useViewParams();
  const mayReadOthers = rights === undefined || rights.readableOrgs?.length !== 0;
  const isOwn = !mayReadOthers || view.get('whose') === 'mine';
  return (
    <>
      <div className="page-head">
        <h1>{words.logins}</h1>
      </div>
      <p>{words.loginsIntro}</p>
      {mayReadOthers ? (
        <label className="check">
          <input
            type="checkbox"
            checked={isOwn}
            onChange={({ target }) => view.set({ whose: target.checked ? 'mine' : '' })}
          />
          {words.onlyMine}
        </label>
      ) : (
        <p>{words.mineOnly}</p>
      )}
      {isOwn ? (
        <OwnLogins />
      ) : (
        <Log path="/api/v1/audits/login-logs/" label={words.logins} fields={loginFilters} columns={loginColumns} />
      )}
    </>
  );
}

/** The logins of the user, and those who tried to be them. */
export function OwnLogins() {
  return (
    <LogTable
      path="/api/v1/audits/my-login-logs/"
      query={{}}
      label={words.logins}
      fields={loginFilters.filter(({ name }) => name !== 'username')}
      columns={loginColumns}
    />
  );
}

interface LogProps<T extends LogEntry> {
  path: string;
  label: string;
  fields: readonly FilterField[];
  columns: readonly RecordColumn<T>[];
}

/** A log of the organization that is chosen; an auditor reads it whole. */
function Log<T extends LogEntry>(props: LogProps<T>) {
  const { org, rights } = useChosenOrg();
  if (rights === undefined) return <p role="status">{texts.loading}</p>;
  const missing =
    org === undefined ? texts.access.needs.reader('audits.view') : missingForReader(rights, 'audits.view', org);
  if (missing !== undefined) return <MissingNote rule={missing} />;
  if (rights.isAuditor) return <LogTable {...props} query={{}} />;
  return <LogTable {...props} query={{ oid: org! }} before={<OrgChooser org={org!} rights={rights} />} />;
}

interface LogTableProps<T extends LogEntry> extends LogProps<T> {
  query: Readonly<Record<string, string>>;
  before?: ReactNode;
}

function LogTable<T extends LogEntry>({ path, label, fields, columns, query, before }: LogTableProps<T>) {
  const view = useViewParams();
  const filters = Object.fromEntries(fields.map(({ name }) => [name, view.get(name)]));
  const order = view.get('order');
  const wanted = { ...query, ...filters, order };
  const { value, failure, reload } = useRecords<T>(path, wanted, view.page);
  return (
    <>
      <FilterForm before={before} fields={fields} />
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value === undefined ? undefined : (
        <>
          <p className="log-head">
            <span role="status">{words.count(value.count)}</span>{' '}
            <button type="button" className="button plain" onClick={reload}>
              {words.reload}
            </button>{' '}
            <SnippetAction request={shownPage(path, wanted, view.page)} />
          </p>
          <RecordTable
            label={label}
            order={order || '-datetime'}
            records={value.results}
            keyOf={({ id }) => id}
            empty={words.none}
            columns={columns}
          />
        </>
      )}
      <Paging page={value} />
    </>
  );
}
