import type { AccessDatabase } from '../access-database.ts';
import { isUuid } from '../operations/uuid.ts';
import { fold } from '../names/fold-case.ts';
import { organizationColumns, type Organization } from './organization.ts';

/** Of a name, folded. In UTF-16 units. */
const longestName = 512;

/** Organizations as they are stored. */
export class Organizations {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  /** By id or name, in any case; ROOT and DEFAULT are names. */
  async find(text: string): Promise<Organization | undefined> {
    // No database takes it; no organization is named so.
    if (text.length > longestName || /[\0\p{Cs}]/u.test(text)) return undefined;
    const column = isUuid(text) ? 'id' : 'name_key';
    const { rows } = await this.#database.pool.query<Organization>({
      name: `organization-by-${column}`,
      text: `SELECT ${organizationColumns} FROM access.organizations WHERE ${column} = $1`,
      values: [column === 'id' ? text : fold(text)],
    });
    return rows[0];
  }
}
