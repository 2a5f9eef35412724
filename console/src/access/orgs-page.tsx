import { useState, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { FailureNote } from '../interface/failure-note.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { useTitle } from '../interface/use-title.ts';
import { formatDate, texts } from '../texts/texts.ts';
import { orgsPath, shownPage, type OrgRecord } from './access-api.ts';
import { orgLink } from './access-links.ts';
import { missingForAdministrator, useAccessRights } from './access-rights.ts';
import { FilterForm } from './filter-form.tsx';
import { NewOrgDialog } from './org-forms.tsx';
import { Paging, RecordTable } from './record-table.tsx';
import { RecordsHead } from './records-head.tsx';
import { useRecords } from './use-records.ts';
import { useViewParams } from './view-params.ts';

const words = texts.access.orgs;

/** The organizations in which the user has a role, or all. */
export function OrgsPage() {
  useTitle(words.title);
  const view = useViewParams();
  const rights = useAccessRights();
  const [, navigate] = useLocation();
  const [dialog, setDialog] = useState<ReactNode>(undefined);
  const query = { search: view.get('search'), order: view.get('order') };
  const { value, failure } = useRecords<OrgRecord>(orgsPath, query, view.page);
  const missing = missingForAdministrator(rights, 'orgs.create');
  const create = (): void => {
    if (missing !== undefined) return;
    setDialog(<NewOrgDialog onCreated={({ id }) => navigate(orgLink(id))} onClose={() => setDialog(undefined)} />);
  };
  useShortcut('n', create);
  return (
    <>
      <RecordsHead
        words={words}
        page={value}
        onCreate={create}
        missingRule={missing}
        request={shownPage(orgsPath, query, view.page)}
      />
      <FilterForm fields={[{ name: 'search', label: words.search, kind: 'search' }]} />
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value === undefined ? undefined : (
        <RecordTable
          label={words.title}
          order={view.get('order') || 'name'}
          records={value.results}
          keyOf={({ id }) => id}
          empty={words.none}
          columns={[
            { title: words.name, order: 'name', cell: ({ id, name }) => <Link href={orgLink(id)}>{name}</Link> },
            { title: words.comment, cell: ({ comment }) => comment },
            { title: texts.namespace.label, cell: ({ namespace }) => namespace },
            { title: words.created, order: 'date_created', cell: ({ date_created: date }) => formatDate(date) },
          ]}
        />
      )}
      <Paging page={value} />
      {dialog}
    </>
  );
}
