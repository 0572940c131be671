/** A mutant is to live or die by what it does, not by what was drawn: every property is tried with the same values. */
import fc from 'fast-check';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_260_101 });
