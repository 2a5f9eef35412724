import {
  selectionParams,
  type AnyObject,
  type IndexCondition,
  type IndexTypes,
  type WhereSelection,
} from '@svc/client';
import type { AnyResource } from '../server/model-info.ts';
import { server } from '../server/server.ts';

type Condition = IndexCondition<string>;

/** Objects of a selection that meet one condition more, even one about the same index. */
export class CountedSelection {
  readonly #resource: AnyResource;
  readonly #selection: WhereSelection<IndexTypes>;
  readonly #signal: AbortSignal;

  constructor(resource: AnyResource, selection: WhereSelection<IndexTypes>, signal: AbortSignal) {
    this.#resource = resource;
    this.#selection = selection;
    this.#signal = signal;
  }

  /** The exact number. @throws StatusError */
  async count(index: string, condition: Condition): Promise<number> {
    const query = this.#query(index, condition, { page: '1', size: '1', exactTotal: 'true' });
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    const { total } = (await server.read(this.#resource.path, { query, accept, signal: this.#signal })) as {
      total: number;
    };
    return total;
  }

  /** The first object in the order of an index: `priority`, or `priority,desc`. @throws StatusError */
  async first(sort: string, condition: Condition): Promise<AnyObject | undefined> {
    const query = this.#query(sort.replace(/,desc$/, ''), condition, { limit: '1', sort });
    const { items } = (await server.read(this.#resource.path, { query, signal: this.#signal })) as {
      items: AnyObject[];
    };
    return items[0];
  }

  #query(index: string, condition: Condition, others: Readonly<Record<string, string>>): URLSearchParams {
    // All selectors of a query must hold at once.
    return new URLSearchParams([
      ...selectionParams(this.#selection),
      ...selectionParams({ where: { [index]: condition } }),
      ...Object.entries(others),
    ]);
  }
}
