import { PreparedStatement, type Placeholders } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import { isUuid } from '../operations/uuid.ts';
import { fold } from '../names/fold-case.ts';
import { organizationColumns, type Organization } from './organization.ts';

const organizations = accessQuery.selectFrom('access.organizations').select(organizationColumns);

const findById = new PreparedStatement('organization-by-id', ($: Placeholders<{ id: string }>) =>
  organizations.where('id', '=', $.id),
);

const findByName = new PreparedStatement('organization-by-name_key', ($: Placeholders<{ key: string }>) =>
  organizations.where('name_key', '=', $.key),
);

/** Maximum length of a folded name, in UTF-16 units. */
const maxNameLength = 512;

/** Reads organizations from the database. */
export class Organizations {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  /** Finds by id or name, case-insensitive; ROOT and DEFAULT are names. */
  async find(text: string): Promise<Organization | undefined> {
    // No organization has such a name, and PostgreSQL would refuse the text.
    if (text.length > maxNameLength || /[\0\p{Cs}]/u.test(text)) return undefined;
    const { pool } = this.#database;
    const { rows } = await (isUuid(text)
      ? findById.run(pool, { id: text })
      : findByName.run(pool, { key: fold(text) }));
    return rows[0];
  }
}
