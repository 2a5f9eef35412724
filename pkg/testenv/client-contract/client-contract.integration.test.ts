import { runClientContract } from './run-client-contract.ts';
import { directTransports } from './transport.ts';

runClientContract(directTransports);
