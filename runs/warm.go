package runs

import "markmill/notebooks/codec"

// Warm makes the encoders and decoders of what every run writes, which are otherwise made one by one
// when each is first needed. It is for a moment in which another processor has nothing to do.
func Warm() {
	for _, v := range []any{
		&RunStartedData{}, &ContractData{}, &PlanData{}, &StepStartedData{}, &StepFinishedData{}, &DiffCheckedData{}, &VerificationData{},
		&CompletedData{}, &ScrapData{}, &PatchData{}, &Event{Data: codec.Raw("{}")},
	} {
		if b, err := codec.Marshal(v); err == nil {
			_ = codec.Unmarshal(b, v) // a value that does not fit shows when it is used
		}
	}
	_, _ = codec.Marshal(&Report{})
}
