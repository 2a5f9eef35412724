import { createHash } from 'node:crypto';
import { isStatusError, type Client, type Fence } from '#pkg/apimachinery/index';
import { leaseType, type Lease } from '../leaderelection/lease.ts';
import { formatPosition, parsePosition, type ResumePosition } from './resume-position.ts';

/** The annotation of a Lease that holds a resume position. */
export const resumePositionAnnotation = 'svc.run/resume-position';

export interface PositionStoreOptions {
  client: Pick<Client, 'get' | 'create' | 'patch'>;
  namespace: string;
  /** The name of the manager: controllers of the same name under different managers are different. */
  manager: string;
  controller: string;
  /** Keeps a deposed leader from changing the position of its successor. */
  fence?: Fence;
}

/** Stores a controller's position in an annotation of a Lease that has no holder. */
export class PositionStore {
  readonly #options: PositionStoreOptions;
  readonly #name: string;

  constructor(options: PositionStoreOptions) {
    this.#options = options;
    this.#name = leaseName(options);
  }

  /** Undefined without a readable position. @throws StatusError */
  async read(signal: AbortSignal): Promise<ResumePosition | undefined> {
    const { client, namespace } = this.#options;
    try {
      const lease = await client.get(leaseType, { namespace, name: this.#name }, { signal });
      const text = lease.metadata.annotations?.[resumePositionAnnotation];
      return text === undefined ? undefined : parsePosition(text);
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** @throws StatusError */
  async write(position: ResumePosition, signal: AbortSignal): Promise<void> {
    const { client, namespace, fence } = this.#options;
    const options = { signal, ...(fence === undefined ? {} : { fence }) };
    const annotations = { [resumePositionAnnotation]: formatPosition(position) };
    try {
      await client.patch(
        leaseType,
        { namespace, name: this.#name },
        { type: 'merge', patch: { metadata: { annotations } } },
        options,
      );
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
      const lease: Lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace, name: this.#name, annotations },
        spec: {},
      };
      await client.create(leaseType, lease, options);
    }
  }
}

/** `resume-<controller>-<hash>`: the names may be any text. */
function leaseName({ manager, controller }: PositionStoreOptions): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([manager, controller]))
    .digest('hex')
    .slice(0, 12);
  const readable = controller
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  return ['resume', ...(readable === '' ? [] : [readable.replace(/-+$/, '')]), hash].join('-');
}
