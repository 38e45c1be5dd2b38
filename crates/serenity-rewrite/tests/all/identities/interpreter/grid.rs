//! Numbers in a box of any rank, and what only moves them about.

/// Elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid<T> {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<T>,
}

impl<T> Grid<T> {
    pub(crate) fn get(&self, place: &[usize]) -> &T {
        let offset = place.iter().zip(&self.shape).fold(0, |offset, (&at, &size)| offset * size + at);
        &self.values[offset]
    }
}

impl<T: Copy> Grid<T> {
    pub(crate) fn new(shape: &[usize], values: Vec<T>) -> Self {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "elements of shape {shape:?}");
        Self { shape: shape.to_vec(), values }
    }

    /// Asks for each element by its place, in row-major order.
    pub(crate) fn from_fn(shape: &[usize], mut element: impl FnMut(&[usize]) -> T) -> Self {
        let count: usize = shape.iter().product();
        let mut place = vec![0; shape.len()];
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(element(&place));
            for (at, &size) in place.iter_mut().zip(shape).rev() {
                *at = (*at + 1) % size;
                if *at > 0 {
                    break;
                }
            }
        }
        Self { shape: shape.to_vec(), values }
    }

    pub(crate) fn at(&self, place: &[usize]) -> T {
        *self.get(place)
    }

    /// The sizes of a feature map or of a kernel.
    pub(crate) fn four(&self) -> [usize; 4] {
        self.shape.as_slice().try_into().unwrap_or_else(|_| panic!("{:?} is not four sizes", self.shape))
    }

    pub(crate) fn map<U>(&self, change: impl FnMut(T) -> U) -> Grid<U> {
        Grid { shape: self.shape.clone(), values: self.values.iter().copied().map(change).collect() }
    }
}

/// `CONCATENATION`.
pub(crate) fn concatenate<T: Copy>(pieces: &[Grid<T>], axis: usize) -> Grid<T> {
    let mut shape = pieces[0].shape.clone();
    shape[axis] = pieces.iter().map(|piece| piece.shape[axis]).sum();
    for piece in pieces {
        let fits = (0..shape.len()).all(|at| at == axis || piece.shape[at] == shape[at]);
        assert!(fits, "{:?} does not fit into {shape:?} along axis {axis}", piece.shape);
    }
    Grid::from_fn(&shape, |place| {
        let mut place = place.to_vec();
        let mut pieces = pieces.iter();
        loop {
            let piece = pieces.next().expect("the sizes add up");
            if place[axis] < piece.shape[axis] {
                return piece.at(&place);
            }
            place[axis] -= piece.shape[axis];
        }
    })
}

/// `PAD`: so many more before and after, along each axis.
pub(crate) fn pad<T: Copy>(x: &Grid<T>, amounts: &[[usize; 2]], value: T) -> Grid<T> {
    assert_eq!(amounts.len(), x.shape.len(), "one pair of paddings for each axis");
    let shape: Vec<usize> =
        x.shape.iter().zip(amounts).map(|(size, [before, after])| size + before + after).collect();
    Grid::from_fn(&shape, |place| {
        let inside = place
            .iter()
            .zip(amounts)
            .zip(&x.shape)
            .map(|((at, [before, _]), size)| at.checked_sub(*before).filter(|at| at < size));
        inside.collect::<Option<Vec<usize>>>().map_or(value, |place| x.at(&place))
    })
}

/// An op on pairs of elements, where an axis of size 1, or one that is missing in front, is repeated.
pub(crate) fn broadcast<T: Copy, U: Copy>(a: &Grid<T>, b: &Grid<T>, combine: impl Fn(T, T) -> U) -> Grid<U> {
    let rank = a.shape.len().max(b.shape.len());
    let size = |grid: &Grid<T>, axis: usize| {
        (axis + grid.shape.len()).checked_sub(rank).map_or(1, |axis| grid.shape[axis])
    };
    let shape: Vec<usize> = (0..rank)
        .map(|axis| {
            let sizes = (size(a, axis), size(b, axis));
            assert!(
                sizes.0 == sizes.1 || sizes.0 == 1 || sizes.1 == 1,
                "{:?} and {:?} do not broadcast",
                a.shape,
                b.shape
            );
            if sizes.0 == 1 { sizes.1 } else { sizes.0 }
        })
        .collect();
    let read = |grid: &Grid<T>, place: &[usize]| {
        let own = place[rank - grid.shape.len()..].iter().zip(&grid.shape);
        let own: Vec<usize> = own.map(|(&at, &size)| if size == 1 { 0 } else { at }).collect();
        grid.at(&own)
    };
    Grid::from_fn(&shape, |place| combine(read(a, place), read(b, place)))
}

/// `MEAN` and the like: what `reduce` makes of all elements that differ only along `axes`.
pub(crate) fn reduce<T: Copy>(
    x: &Grid<T>,
    axes: &[usize],
    keep_dims: bool,
    reduce: impl Fn(&[T]) -> T,
) -> Grid<T> {
    let only = |inside: bool| -> Vec<usize> {
        let size = |(axis, &size): (usize, &usize)| if axes.contains(&axis) == inside { size } else { 1 };
        x.shape.iter().enumerate().map(size).collect()
    };
    let mut result = Grid::from_fn(&only(false), |kept| {
        let group = Grid::from_fn(&only(true), |within| {
            x.at(&kept.iter().zip(within).map(|(kept, within)| kept + within).collect::<Vec<usize>>())
        });
        reduce(&group.values)
    });
    if !keep_dims {
        let mut axis = 0..;
        result.shape.retain(|_| axis.next().is_some_and(|axis| !axes.contains(&axis)));
    }
    result
}
