import { orgsPath, profilePath, type OrgRecord, type UserRecord } from '../access/access-api.ts';
import { FilterForm } from '../access/filter-form.tsx';
import { Paging, RecordTable } from '../access/record-table.tsx';
import { useRecord, useRecords } from '../access/use-records.ts';
import { useViewParams } from '../access/view-params.ts';
import { FailureNote } from '../interface/failure-note.tsx';
import { texts } from '../texts/texts.ts';

const words = texts.userCenter.orgs;
const { orgs } = texts.access;

/** The organizations in which the user has a role, also of those who may see all. */
export default function OrgsPage() {
  const view = useViewParams();
  const query = { is_member: 'true', search: view.get('search'), order: view.get('order') };
  const { value, failure } = useRecords<OrgRecord>(orgsPath, query, view.page);
  const profile = useRecord<UserRecord>(profilePath);
  const rolesIn = (org: string): string =>
    (profile.value?.org_roles ?? [])
      .filter((role) => role.org === org)
      .map((role) => role.display_name)
      .join(', ');
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
        <p role="status" className="facts">
          {value === undefined ? '' : orgs.count(value.count)}
        </p>
      </div>
      <p>{words.intro}</p>
      <FilterForm fields={[{ name: 'search', label: orgs.search, kind: 'search' }]} />
      {(failure ?? profile.failure) === undefined ? undefined : <FailureNote failure={failure ?? profile.failure} />}
      {value === undefined ? undefined : (
        <RecordTable
          label={words.title}
          order={view.get('order') || 'name'}
          records={value.results}
          keyOf={({ id }) => id}
          empty={view.get('search') === '' ? words.none : orgs.none}
          columns={[
            { title: orgs.name, order: 'name', cell: ({ name }) => name },
            { title: texts.access.users.roles, cell: ({ id }) => rolesIn(id) },
            { title: orgs.comment, cell: ({ comment }) => comment },
            {
              title: texts.namespace.label,
              cell: ({ namespace }) =>
                namespace === null ? (
                  texts.access.none
                ) : (
                  <a href={`/console/?ns=${encodeURIComponent(namespace)}`}>{namespace}</a>
                ),
            },
          ]}
        />
      )}
      <Paging page={value} />
    </>
  );
}
