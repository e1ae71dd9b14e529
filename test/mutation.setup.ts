import fc from 'fast-check'

// One failure is enough to see that a test notices a mutant: a smaller one would take longer.
fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true })
