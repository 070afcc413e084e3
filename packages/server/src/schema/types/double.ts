import { fieldType } from '../field-type.ts';
import { floatType } from './float.ts';

/** The same as float: both are 64 bits wide here. */
export const doubleType = fieldType({ ...floatType, name: 'double' });
