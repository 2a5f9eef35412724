import { selectorsOf, type IndexTypes, type WhereSelection } from '#pkg/apimachinery/index';

export type { IndexTypes, MetadataIndexes, WhereSelection } from '#pkg/apimachinery/index';

/** The query parameters `fieldSelector` and `labelSelector`. */
export function selectionParams(selection: WhereSelection<IndexTypes>): URLSearchParams {
  return new URLSearchParams({ ...selectorsOf(selection) });
}
