import { useState } from 'react';
import { Link } from 'wouter';
import { ActionButton } from '../interface/action-button.tsx';
import { formatDate, texts } from '../texts/texts.ts';
import { bindingsPath, onePath, send, type RoleBinding } from './access-api.ts';
import { orgLink, userLink } from './access-links.ts';
import { missingForAdministrator, missingForOrgAdmin, useAccessRights } from './access-rights.ts';
import { ConfirmDialog, type Question } from '../interface/confirm-dialog.tsx';
import { RecordTable, type RecordColumn } from './record-table.tsx';

const words = texts.access.bindings;

interface RoleBindingTableProps {
  label: string;
  bindings: readonly RoleBinding[];
  /** What is the same in all rows is left out. */
  hide?: 'user' | 'org';
  onRemoved: () => void;
}

/** Who has which role where, each with a way to take it away. */
export function RoleBindingTable({ label, bindings, hide, onRemoved }: RoleBindingTableProps) {
  const rights = useAccessRights();
  const [question, setQuestion] = useState<Question | undefined>(undefined);
  const who: RecordColumn<RoleBinding> = {
    title: words.who,
    cell: ({ user, user_display: name, org }) => (
      <Link href={userLink(user, rights?.isAuditor === false && org !== undefined ? org : '')}>{name}</Link>
    ),
  };
  const where: RecordColumn<RoleBinding> = {
    title: words.where,
    cell: ({ org, org_name: name }) =>
      org === undefined ? texts.access.orgs.wholeSystem : <Link href={orgLink(org)}>{name}</Link>,
  };
  const take = (binding: RoleBinding): Question => {
    const { id, scope, user_display: user, role_display: role, org_name: org } = binding;
    return {
      title: words.takeTitle(role, user),
      text: org === undefined ? words.takeText : words.takeTextIn(org),
      action: words.take,
      act: async () => {
        await send('DELETE', onePath(bindingsPath(scope), id));
        onRemoved();
      },
    };
  };
  return (
    <>
      <RecordTable
        label={label}
        records={bindings}
        keyOf={({ id }) => id}
        empty={words.none}
        columns={[
          ...(hide === 'user' ? [] : [who]),
          { title: words.role, cell: ({ role_display: role }) => role },
          ...(hide === 'org' ? [] : [where]),
          { title: words.since, cell: ({ date_created: date }) => formatDate(date) },
          { title: words.by, cell: ({ created_by: by }) => by },
          {
            title: words.action,
            cell: (binding) => (
              <ActionButton
                onAction={() => setQuestion(take(binding))}
                missingRule={
                  binding.org === undefined
                    ? missingForAdministrator(rights, 'role-bindings.delete')
                    : missingForOrgAdmin(rights, 'role-bindings.delete', binding.org)
                }
              >
                {words.take}
              </ActionButton>
            ),
          },
        ]}
      />
      {question === undefined ? undefined : (
        <ConfirmDialog question={question} onClose={() => setQuestion(undefined)} />
      )}
    </>
  );
}
