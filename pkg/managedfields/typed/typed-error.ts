import { StatusError } from '#pkg/apimachinery/index';

/** 400: a configuration does not have the form of its schema, or `managedFields` cannot be read. */
export class TypedError extends StatusError {
  constructor(message: string) {
    super(400, 'BadRequest', message);
    this.name = 'TypedError';
  }
}
