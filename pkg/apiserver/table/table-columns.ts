import {
  formatGroupResource,
  isJsonObject,
  type JsonObject,
  type ModelVersion,
  type PrinterColumn,
} from '#pkg/apimachinery/index';
import type { ServedResource } from '../rest/served-resource.ts';
import { builtinTables } from './builtin-tables.ts';
import { compileColumnPath, firstValue, type ColumnPath } from './column-path.ts';
import { ageColumn, column, nameColumn, type ColumnDefinition, type TableColumns } from './column-definition.ts';
import { shortText, tableCell } from './table-cell.ts';
import { VisitBudget } from './visit-budget.ts';

/** Values that are looked at for one row. A page has up to 50 rows that are made without a pause. */
const maxVisits = 10_000;

const compiled = new WeakMap<ModelVersion, TableColumns>();

/** The columns of a served version; compiled when the first client asks for them. */
export function tableColumns({ resource, version }: Pick<ServedResource, 'resource' | 'version'>): TableColumns {
  let columns = compiled.get(version);
  if (columns === undefined) {
    columns = builtinTables.get(formatGroupResource(resource)) ?? printerColumns(version.printerColumns);
    compiled.set(version, columns);
  }
  return columns;
}

/**
 * The name, then the printer columns of a version; its age if it has none. A path that cannot be read ends the columns.
 */
export function printerColumns(declared: readonly PrinterColumn[]): TableColumns {
  const columns = readable(declared.length === 0 ? [ageColumn] : declared);
  return {
    definitions: [nameColumn, ...columns.map(({ definition }) => definition)],
    cells: (object, now) => {
      const budget = new VisitBudget(maxVisits);
      return [
        nameOf(object),
        ...columns.map(({ path, type }) => tableCell(type, firstValue(path, object, budget), { now, budget })),
      ];
    },
  };
}

interface ReadableColumn {
  definition: ColumnDefinition;
  type: PrinterColumn['type'];
  path: ColumnPath;
}

function readable(declared: readonly PrinterColumn[]): ReadableColumn[] {
  const columns: ReadableColumn[] = [];
  for (const { name, type, format = '', description = '', priority = 0, jsonPath } of declared) {
    const path = compileColumnPath(jsonPath);
    if (path === undefined) break;
    const shown =
      description === '' ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description;
    columns.push({
      definition: column(shortText(name), { type, format, description: shortText(shown), priority }),
      type,
      path,
    });
  }
  return columns;
}

function nameOf({ metadata }: JsonObject): string {
  const name = isJsonObject(metadata) ? metadata['name'] : undefined;
  return typeof name === 'string' ? name : '';
}
