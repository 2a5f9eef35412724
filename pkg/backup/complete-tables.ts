import type { ClientBase } from 'pg';
import { BackupError } from './backup-error.ts';
import type { Progress } from './progress.ts';
import type { RestoredTable } from './restored-table.ts';
import { quoteTable, tableIndexStatements } from './table-shape.ts';

/** Memory for sorting, in each of at most three processes of PostgreSQL. */
const sortMemory = '256MB';

/** Creates keys, indexes and triggers of tables that have their rows, and the foreign keys between all tables. */
export async function completeTables(
  client: ClientBase,
  tables: readonly RestoredTable[],
  { foreignKeys, progress }: { foreignKeys: readonly string[]; progress: Progress },
): Promise<void> {
  await client.query("SELECT set_config('maintenance_work_mem', $1, true)", [sortMemory]);
  const texts = tables.flatMap(({ schema, table, shape }) => {
    const name = quoteTable(schema.name, table);
    return shape === undefined
      ? []
      : [
          ...tableIndexStatements(name, shape),
          ...shape.triggers.map((trigger) => schema.runtimeTables!.triggers[trigger]!(table)),
        ];
  });
  progress.expectedIndexes = texts.length + foreignKeys.length;
  for (const text of [...texts, ...foreignKeys]) {
    try {
      await client.query(text);
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      // Class 23: the rows break a constraint.
      if (code?.startsWith('23') === true)
        throw new BackupError(`The rows of the backup contradict each other: ${message}.`, { cause: error });
      throw error;
    }
    progress.indexes += 1;
  }
}
